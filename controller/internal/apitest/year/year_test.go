// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package year_test lets a year of backups pass, or a sample of one: the clock that decisions go by jumps from run to run,
// and everything else is the real API server and the whole controller.
package year_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// line is one policy with its schedule, and what they should have done.
type line struct {
	policy   *kopiurv1.SnapshotPolicy
	schedule *kopiurv1.SnapshotSchedule
	cron     schedule.Cron
	// made counts Snapshots by their slot; want are the slots that should have one.
	made map[string]map[string]bool
	want []string
	// kept are the snapshots that the oracle keeps.
	kept   []run
	pruned int
	// proofs are the policy's verifications.
	proofs []*proof
}

type run struct {
	name string
	end  time.Time
}

// year is the world and the record of it.
type year struct {
	*testenv.Env
	t          *testing.T
	time       *testenv.Time
	controller *testenv.Controller
	repository *kopiurv1.Repository
	lines      []*line
	outages    int
	movers     movers
	// eyes follow the objects by a watch: thousands of lists would be most of what the API server does all year.
	eyes cache.Cache
}

func newYear(t *testing.T) *year {
	t.Helper()
	y := &year{Env: testenv.New(t), t: t}
	y.time = y.NewTime()
	y.eyes = y.watch()
	y.repository = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		// Nothing but what the year is about.
		Health:      &kopiurv1.HealthSpec{Probe: &kopiurv1.HealthProbe{Enabled: new(false)}},
		Maintenance: &kopiurv1.RepositoryMaintenance{Enabled: new(false)},
	}}
	y.Mover(func(c testenv.Call) testenv.Play {
		y.movers.add(c)
		p := testenv.Succeed(c)
		if s := p.Result.Snapshot; s != nil {
			s.EndTime = y.time.Now().UTC().Truncate(time.Second)
			s.StartTime = s.EndTime.Add(-time.Minute)
		}
		return p
	})
	y.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), testenv.Claim("mail"), y.repository)
	y.line("often", "data", often, &kopiurv1.Retention{KeepLatest: new(int32(2)), KeepHourly: new(int32(12)), KeepDaily: new(int32(7)), KeepWeekly: new(int32(4)), KeepMonthly: new(int32(6))},
		proof{tier: kopiurv1.VerificationQuick, text: "40 5 * * *"})
	y.line("nightly", "mail", "30 2 * * *", &kopiurv1.Retention{KeepDaily: new(int32(5)), KeepWeekly: new(int32(3)), KeepMonthly: new(int32(12)), KeepAnnual: new(int32(2))},
		proof{tier: kopiurv1.VerificationQuick, text: "50 5 * * *"}, proof{tier: kopiurv1.VerificationDeep, text: "50 6 * * 1,4"})
	y.begin()
	return y
}

func (y *year) line(name, claim, cron string, r *kopiurv1.Retention, proofs ...proof) {
	y.t.Helper()
	parsed, err := schedule.Parse(cron, y.Namespace+"/"+name)
	require.NoError(y.t, err)
	l := &line{cron: parsed, made: map[string]map[string]bool{}}
	l.policy = &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: "nas"}, CopyMethod: kopiurv1.CopyDirect, Retention: r,
		Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: claim}}}, Verification: &kopiurv1.Verification{},
	}}
	for i := range proofs {
		y.proof(l, &proofs[i])
	}
	l.schedule = &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotScheduleSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: name}, Schedule: kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: cron}},
	}}
	y.Create(l.policy, l.schedule)
	y.lines = append(y.lines, l)
}

// watch starts a cache of the namespace's Snapshots and policies, which ends with the test.
func (y *year) watch() cache.Cache {
	y.t.Helper()
	c, err := cache.New(y.Config, cache.Options{
		Scheme: y.Client.Scheme(), Mapper: y.Client.RESTMapper(), DefaultNamespaces: map[string]cache.Config{y.Namespace: {}},
	})
	require.NoError(y.t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(y.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	y.t.Cleanup(func() {
		stop()
		assert.NoError(y.t, <-ended)
	})
	for _, kind := range []client.Object{&kopiurv1.Snapshot{}, &kopiurv1.SnapshotPolicy{}} {
		_, err := c.GetInformer(ctx, kind)
		require.NoError(y.t, err)
	}
	return c
}

func (y *year) begin() {
	y.t.Helper()
	y.controller = y.StartController(func(o *setup.Options) {
		y.time.Decisions(o)
		o.ServerClock = ahead{}
	})
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		y.GetC(c, y.repository)
		assert.Equal(c, kopiurv1.RepositoryReady, y.repository.Status.Phase)
	}, testenv.Wait, testenv.Tick)
}

// ahead is the clock of an API server whose deletions are all some seconds old: nothing waits for others to go with it. A
// year of hours that take half a second each would never leave a pause for that.
type ahead struct{ clock.RealClock }

// Now implements clock.PassiveClock.
func (a ahead) Now() time.Time { return a.RealClock.Now().Add(15 * time.Second) }

// Since implements clock.PassiveClock.
func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

// TestAYearOfBackups: no run and no verification is left out or made twice, nothing is deleted that the oracle keeps and
// nothing kept that it does not, and in the end everything that was made has an owner or goes by itself (C-1, I-5, I-10).
func TestAYearOfBackups(t *testing.T) {
	t.Parallel()
	y := newYear(t)
	before := y.objects()
	begun := y.time.Now()
	lost := begun.Add(outage)
	for steps := 0; y.time.Now().Before(begun.Add(span)); steps++ {
		if !y.time.Now().Before(lost) {
			y.lose()
			lost = lost.Add(outage)
		}
		y.step()
	}
	made, kept, pruned, verified := 0, 0, 0, y.verified()
	for _, l := range y.lines {
		y.Get(l.schedule)
		assert.Zero(t, l.schedule.Status.ConsecutiveFailures)
		var slots []string
		for slot, names := range l.made {
			assert.Len(t, names, 1, "%s is made once", slot)
			slots = append(slots, slot)
		}
		slices.Sort(slots)
		assert.Equal(t, l.want, slots, "%s: each run once, and no other", l.policy.Name)
		made, kept, pruned = made+len(slots), kept+len(l.kept), pruned+l.pruned
	}
	t.Logf("%s of simulated time, %d outages: %d backups, %d kept, %d pruned, %d verifications", y.time.Now().Sub(begun).Round(time.Hour), y.outages, made, kept, pruned, verified)
	y.nothingLeaks(before)
}

// step lets the time pass until the next run of any line, and waits until everything has come to rest.
func (y *year) step() {
	y.t.Helper()
	now := y.time.Now()
	var due time.Time
	sooner := func(at time.Time) {
		if at.After(now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	for _, l := range y.lines {
		sooner(l.cron.Next(now, time.UTC))
		for _, p := range l.proofs {
			sooner(p.pin)
		}
	}
	for _, l := range y.lines {
		if l.cron.Next(now, time.UTC).Equal(due) {
			l.want = append(l.want, due.UTC().Format(time.RFC3339))
		}
	}
	y.time.Step(due.Sub(now))
	y.rest()
}

// rest waits until all runs that should be there have succeeded and what should go is going.
func (y *year) rest() {
	y.t.Helper()
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		var list kopiurv1.SnapshotList
		require.NoError(c, y.eyes.List(y.t.Context(), &list, client.InNamespace(y.Namespace)))
		for _, l := range y.lines {
			y.restOf(c, l, list.Items)
		}
		y.hurry()
	}, testenv.Wait, 20*time.Millisecond)
	y.proven()
	y.sweep()
}

// hurry lets pass what a controller waits to gather events, or to look again in a moment.
func (y *year) hurry() { y.time.Step(200 * time.Millisecond) }

func (y *year) restOf(c *assert.CollectT, l *line, all []kopiurv1.Snapshot) {
	var there []string
	for i := range all {
		s := &all[i]
		slot := s.Annotations[kopiurv1.AnnotationScheduleSlot]
		if s.Spec.PolicyRef == nil || s.Spec.PolicyRef.Name != l.policy.Name {
			continue
		}
		if l.made[slot] == nil {
			l.made[slot] = map[string]bool{}
		}
		l.made[slot][s.Name] = true
		if s.DeletionTimestamp != nil {
			assert.Equal(c, kopiurv1.PrunedByRetention, s.Annotations[kopiurv1.AnnotationPrunedBy], s.Name)
			continue
		}
		if !assert.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase, "%s: %+v", s.Name, s.Status.Conditions) {
			return
		}
		there = append(there, s.Name)
		y.account(l, s)
	}
	if want := len(l.want); want > 0 {
		if !assert.NotEmpty(c, l.made[l.want[want-1]], "%s waits for the run of %s", l.policy.Name, l.want[want-1]) {
			return
		}
	}
	var keep []string
	for _, r := range l.kept {
		keep = append(keep, r.name)
	}
	slices.Sort(there)
	slices.Sort(keep)
	assert.Equal(c, keep, there, "%s", l.policy.Name)
}

// account lets the oracle decide about a snapshot that is new.
func (y *year) account(l *line, s *kopiurv1.Snapshot) {
	end, err := time.Parse(time.RFC3339, s.Status.Timing.EndTime)
	if err != nil || slices.ContainsFunc(l.kept, func(r run) bool { return r.name == s.Name }) || slices.ContainsFunc(l.kept, func(r run) bool { return !r.end.Before(end) }) {
		return
	}
	all := append(slices.Clone(l.kept), run{s.Name, end.UTC()})
	l.kept = nil
	for i := range all {
		if keeps(l.policy.Spec.Retention, all, i) {
			l.kept = append(l.kept, all[i])
		} else {
			l.pruned++
		}
	}
}

// lose is an outage of eleven hours: of the store and of the controller by turns.
func (y *year) lose() {
	y.t.Helper()
	const hours = 11 * time.Hour
	end := y.time.Now().Add(hours)
	y.outages++
	if y.outages%2 == 0 {
		y.controller.Stop()
		y.time.Step(hours)
		for _, l := range y.lines {
			// One run for all that were missed, of the newest time.
			if last := l.cron.Latest(end, time.UTC); last.After(end.Add(-hours)) {
				l.want = append(l.want, last.UTC().Format(time.RFC3339))
			}
		}
		y.begin()
		y.catchUp()
		return
	}
	y.Change(y.repository, func() { y.repository.Spec.Suspend = true })
	y.parked()
	for y.time.Now().Before(end) {
		y.time.Step(time.Hour)
		y.pinned()
	}
	for _, l := range y.lines {
		// The first of the night waits, and is the one that follows.
		if first := l.cron.Next(end.Add(-hours), time.UTC); !first.After(y.time.Now()) {
			l.want = append(l.want, first.UTC().Format(time.RFC3339))
		}
	}
	y.Change(y.repository, func() { y.repository.Spec.Suspend = false })
	y.rest()
}

// catchUp lets the runs be made that were put off: they are spread over five minutes.
func (y *year) catchUp() {
	y.t.Helper()
	for {
		var first time.Time
		for _, at := range y.pinned() {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
		if first.Sub(y.time.Now()) > 6*time.Minute {
			break
		}
		y.time.Step(first.Sub(y.time.Now()))
	}
	y.rest()
}

// parked waits until everybody knows that the repository is not to be used.
func (y *year) parked() {
	y.t.Helper()
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		for _, l := range y.lines {
			y.GetC(c, l.policy)
			for _, cond := range l.policy.Status.Conditions {
				if cond.Type == kopiurv1.ConditionReady {
					assert.Equal(c, kopiurv1.ReasonRepositoryNotReady, cond.Reason)
				}
			}
		}
	}, testenv.Wait, 20*time.Millisecond)
}

// pinned waits until the next run of every line lies ahead, and gives their times.
func (y *year) pinned() []time.Time {
	y.t.Helper()
	var out []time.Time
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		out = nil
		for _, l := range y.lines {
			y.GetC(c, l.schedule)
			if n := l.schedule.Status.NextSchedule; assert.NotNil(c, n) {
				at, err := time.Parse(time.RFC3339, n.At)
				require.NoError(c, err)
				assert.True(c, at.After(y.time.Now()), "%s is pinned to %s at %s", l.schedule.Name, n.At, y.time.Now())
				out = append(out, at)
			}
		}
	}, testenv.Wait, 20*time.Millisecond)
	return out
}

// sweep is the cluster's own controller that removes finished Jobs when their time has come.
func (y *year) sweep() {
	y.t.Helper()
	var jobs batchv1.JobList
	require.NoError(y.t, y.Client.List(y.t.Context(), &jobs, client.InNamespace(y.Namespace)))
	for i := range jobs.Items {
		if j := &jobs.Items[i]; j.Spec.TTLSecondsAfterFinished != nil && j.Status.Active == 0 {
			require.NoError(y.t, client.IgnoreNotFound(y.Client.Delete(y.t.Context(), j, client.PropagationPolicy(metav1.DeletePropagationBackground))))
		}
	}
}
