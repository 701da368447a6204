// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance_test drives Maintenances against a real API server.
package maintenance_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/maintenance"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's namespace with a repository.
type lab struct {
	*testenv.Env

	t     *testing.T
	clock *testenv.Time
	// child is the Maintenance that Kopiur makes.
	child *kopiurv1.Maintenance
}

func repository(name string) *kopiurv1.Repository {
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "backups"}
	r.Spec.Encryption.PasswordSecretRef.Name = "password"
	r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{} // by Kopiur's own schedule
	return r
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t}
	l.clock = l.NewTime()
	l.child = &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: "nas", Namespace: l.Namespace}}
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}))
	return l
}

// own is somebody's own Maintenance of the repository.
func own(name, of, owner string) *kopiurv1.Maintenance {
	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.Repository = kopiurv1.RepositoryRef{Name: of}
	m.Spec.Schedule = kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "0 */6 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}}
	m.Spec.Ownership.Owner = owner
	return m
}

// until waits for a Maintenance's condition.
func (l *lab) until(m *kopiurv1.Maintenance, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, m)
		got = testenv.Condition(m.Status.Conditions, kind)
		require.Equal(c, status, got.Status, "%+v", m.Status)
		require.Equal(c, reason, got.Reason, got.Message)
	}, testenv.Wait, testenv.Tick)
	return got
}

// configured waits until the repository says who takes care of it.
func (l *lab) configured(r *kopiurv1.Repository, status metav1.ConditionStatus, reason, message string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, r)
		got := testenv.Condition(r.Status.Conditions, kopiurv1.ConditionMaintenanceConfigured)
		require.Equal(c, status, got.Status, "%+v", got)
		require.Equal(c, reason, got.Reason)
		require.Contains(c, got.Message, message)
	}, testenv.Wait, testenv.Tick)
}

func (l *lab) runs() []testenv.Call { return l.CallsOf("maintain") }

func (l *lab) leases() []coordinationv1.Lease {
	l.t.Helper()
	var list coordinationv1.LeaseList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	return list.Items
}

// settled waits until no run is under way: the Lease is released and the Jobs go by themselves.
func (l *lab) settled() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		require.Empty(c, l.leases())
		var list batchv1.JobList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOperation: "maintain"}))
		for i := range list.Items {
			require.NotNil(c, list.Items[i].Spec.TTLSecondsAfterFinished)
		}
	}, testenv.Wait, testenv.Tick)
}

// ask asks for a run.
func (l *lab) ask(m *kopiurv1.Maintenance, mode kopiurv1.MaintenanceMode) {
	l.t.Helper()
	l.Annotate(m, kopiurv1.AnnotationRunMode, string(mode))
	l.Annotate(m, kopiurv1.AnnotationRunRequested, l.clock.Now().UTC().Format(time.RFC3339))
}

// maintaining plays maintenances with play, and lets all other movers succeed.
func maintaining(play func(testenv.Call) testenv.Play) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Maintain == nil {
			return testenv.Succeed(c)
		}
		return play(c)
	}
}

// J-12: TestARepositoryIsMaintained: it gets a Maintenance by itself, which rests until its time, and then runs in the one
// mode that is due, under the repository's own name.
func TestARepositoryIsMaintained(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := repository("nas")
	l.Create(r)
	l.Mover(maintaining(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Maintain.Waiting = &work.Reclaim{Reason: work.ReclaimTooYoung, Bytes: 400, At: time.Now().Add(48 * time.Hour), Message: "400 bytes are younger than a day"}
		return p
	}))
	l.StartController(l.clock.Decisions)
	l.configured(r, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceConfigured, l.Namespace+"/nas")
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	assert.True(t, metav1.IsControlledBy(l.child, r))
	assert.Equal(t, kopiurv1.ManagedByValue, l.child.Labels[kopiurv1.LabelManagedBy])
	assert.Empty(t, l.runs(), "a new one is not overdue")
	l.Quiet(l.child, time.Second)

	l.clock.Step(26 * time.Hour)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	l.settled()
	require.Len(t, l.runs(), 1, "full takes the place of quick")
	assert.Equal(t, work.MaintenanceFull, l.runs()[0].Spec.Operation.Maintain.Mode)
	assert.Equal(t, "kopiur-"+l.Namespace+"-nas", l.runs()[0].Spec.Repository.Hostname, "never the pod's (K-6)")
	st := l.child.Status
	assert.NotEmpty(t, st.Full.LastRunAt)
	assert.Equal(t, int64(1<<20), *st.Full.LastContentReclaimedBytes)
	assert.NotEmpty(t, st.Full.ReclaimableAt)
	assert.Contains(t, st.Full.Message, "400 bytes are younger than a day")
	assert.NotEmpty(t, st.Quick.LastHandledAt)
	assert.Equal(t, "kopiur@kopiur-"+l.Namespace+"-nas", st.Ownership.Owner)
	assert.Equal(t, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionLeaseOwned).Status)
	l.Quiet(l.child, time.Second)
}

// TestOneOrTheOther: somebody's own Maintenance takes the place of the one that Kopiur made, never stands beside it; when
// it goes, Kopiur's comes back; a repository that is not to be maintained says what that means.
func TestOneOrTheOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := repository("nas")
	l.Create(r)
	l.StartController(l.clock.Decisions)
	l.configured(r, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceConfigured, l.Namespace+"/nas")
	mine := own("mine", "nas", "kopiur/ops/mine")
	l.Create(mine)
	l.configured(r, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceConfigured, l.Namespace+"/mine")
	gone := func(c *assert.CollectT) {
		var list kopiurv1.MaintenanceList
		require.NoError(c, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace)))
		for i := range list.Items {
			require.NotEqual(c, "nas", list.Items[i].Name)
		}
	}
	require.EventuallyWithT(t, gone, testenv.Wait, testenv.Tick)
	require.NoError(t, l.Client.Delete(t.Context(), mine))
	l.configured(r, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceConfigured, l.Namespace+"/nas")

	l.Change(r, func() {
		r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Schedule: &kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "0 1 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 2 * * 0"}}}
	})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.child)
		require.Equal(c, "0 2 * * 0", l.child.Spec.Schedule.Full.Cron)
	}, testenv.Wait, testenv.Tick)
	l.Change(r, func() { r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Enabled: new(false)} })
	l.configured(r, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceDisabled, "never given back")
	require.EventuallyWithT(t, gone, testenv.Wait, testenv.Tick)
}

// K-6: TestTwoObjectsOneStore: two repositories that lead to one store are maintained one after the other, whatever their
// Maintenances think of each other.
func TestTwoObjectsOneStore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.Mover(maintaining(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}))
	l.Create(repository("nas"), repository("twin"))
	l.StartController(l.clock.Decisions)
	twin := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: "twin", Namespace: l.Namespace}}
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.until(twin, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.ask(l.child, kopiurv1.MaintenanceFull)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	require.Len(t, l.leases(), 1)
	l.ask(twin, kopiurv1.MaintenanceQuick)
	got := l.until(twin, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceWaiting)
	assert.Contains(t, got.Message, *l.leases()[0].Spec.HolderIdentity)
	assert.Len(t, l.runs(), 1)
	assert.Equal(t, kopiurv1.RunPending, twin.Status.ManualRun.Phase)
	close(hold)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Empty(c, l.leases()) }, testenv.Wait, testenv.Tick)
	l.clock.Step(2 * time.Minute)
	l.until(twin, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	l.settled()
	assert.Len(t, l.runs(), 2)
	assert.Equal(t, kopiurv1.RunSucceeded, twin.Status.ManualRun.Phase)
	assert.NotEmpty(t, twin.Status.ManualRun.CompletedAt, "I-6")
}

// K-6: TestWhoHoldsTheLease: a Lease whose Job is about to come is respected, one that was left behind is taken, and a run
// that finds another's name in the Lease gives way.
func TestWhoHoldsTheLease(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.Mover(maintaining(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}))
	r := repository("nas")
	l.Create(r)
	first := l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	// The Maintenance rests before anybody knows which store it is; the Lease is named after that.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, r)
		require.NotEmpty(c, r.Status.UniqueID)
	}, testenv.Wait, testenv.Tick)
	other := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: decide.LeaseName(r.Status.UniqueID)}}
	other.Spec.HolderIdentity = new(l.Namespace + "/m-other")
	other.Spec.RenewTime = new(metav1.NewMicroTime(l.clock.Now()))
	require.NoError(t, l.Client.Create(t.Context(), other))
	l.ask(l.child, kopiurv1.MaintenanceQuick)
	got := l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceWaiting)
	assert.Contains(t, got.Message, "m-other")
	assert.Empty(t, l.runs())

	l.clock.Step(2 * time.Minute)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	first.Stop()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, other)
		require.Contains(c, *other.Spec.HolderIdentity, "m-nas-")
		other.Spec.HolderIdentity, other.Spec.RenewTime = new(l.Namespace+"/m-other"), new(metav1.NewMicroTime(l.clock.Now()))
		require.NoError(c, l.Client.Update(t.Context(), other))
	}, testenv.Wait, testenv.Tick)
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceWaiting)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var list batchv1.JobList
		require.NoError(c, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOperation: "maintain"}))
		require.Empty(c, list.Items)
	}, testenv.Wait, testenv.Tick)
	close(hold)
	l.clock.Step(2 * time.Minute)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	l.settled()
}

// K-6: TestAPodThatOutlivesItsJob: somebody deletes the Job of a run. Its pod takes its time to end, and no other is
// started beside it.
func TestAPodThatOutlivesItsJob(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.Mover(maintaining(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}))
	l.Create(repository("nas"))
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.ask(l.child, kopiurv1.MaintenanceFull)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	run := l.runs()[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Pod}}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.Equal(c, corev1.PodRunning, pod.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = []string{"test.kopiur/held"} })
	require.NoError(t, l.Client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Job}},
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
	got := l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceWaiting)
	assert.Contains(t, got.Message, run.Job)
	assert.Len(t, l.runs(), 1)

	close(hold)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.NotNil(c, pod.DeletionTimestamp)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = nil })
	l.clock.Step(2 * time.Minute)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	l.settled()
	assert.Len(t, l.runs(), 2)
}

// TestLeasesThatNobodyHolds go with the sweep: of a repository that is gone nobody would take them. One whose Job or pod is
// there, or may come, or that is not ours, stays.
func TestLeasesThatNobodyHolds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	now := l.clock.Now()
	lease := func(name, holder string, written time.Time) {
		x := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: l.Namespace, Name: name,
			Labels: map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMaintenance},
		}}
		x.Spec.HolderIdentity, x.Spec.RenewTime = &holder, new(metav1.NewMicroTime(written))
		if name == "elections" {
			x.Labels = nil
		}
		require.NoError(t, l.Client.Create(t.Context(), x))
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: "m-there"}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "mover", Image: "mover"}}}
	require.NoError(t, l.Client.Create(t.Context(), job))
	lease("abandoned", l.Namespace+"/m-gone", now.Add(-time.Hour))
	lease("held", l.Namespace+"/m-there", now.Add(-time.Hour))
	lease("taking", l.Namespace+"/m-soon", now)
	lease("by-hand", "ops", now.Add(-time.Hour))
	lease("elections", l.Namespace+"/m-gone", now.Add(-time.Hour))
	s := &maintenance.Sweeper{Client: l.Permitted(), Live: l.Permitted(), Clock: testclock.NewFakeClock(now), Namespace: l.Namespace}
	n, err := s.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	var left []string
	for _, x := range l.leases() {
		left = append(left, x.Name)
	}
	assert.ElementsMatch(t, []string{"held", "taking", "by-hand", "elections"}, left)
}

// C-7: TestAForeignOwner: the run is left to it, the holder is named, and the turn does not come back; Force takes it over.
func TestAForeignOwner(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Mover(maintaining(func(c testenv.Call) testenv.Play {
		if o := c.Spec.Operation.Maintain.Owner; o != nil && o.Anyone {
			return testenv.Succeed(c)
		}
		p := testenv.Fail(c, work.CodeLeaseHeldByOther, "maintenance belongs to root@laptop")
		p.Result.Maintain = &work.MaintainResult{Mode: c.Spec.Operation.Maintain.Mode, Owner: "root@laptop"}
		return p
	}))
	r := repository("nas")
	l.Create(r)
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.clock.Step(26 * time.Hour)
	got := l.until(l.child, kopiurv1.ConditionLeaseOwned, metav1.ConditionFalse, kopiurv1.ReasonLeaseHeldByOther)
	assert.Contains(t, got.Message, "root@laptop")
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceYielding)
	l.settled()
	assert.Empty(t, l.child.Status.Full.LastRunAt)
	assert.NotEmpty(t, l.child.Status.Full.LastHandledAt)
	assert.Len(t, l.runs(), 1)

	l.Change(r, func() {
		r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{TakeoverPolicy: kopiurv1.TakeoverPromptCondition}
	})
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonLeaseTakeoverPrompt)
	l.Change(r, func() { r.Spec.Maintenance.TakeoverPolicy = kopiurv1.TakeoverForce })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.child)
		require.Equal(c, kopiurv1.TakeoverForce, l.child.Spec.Ownership.TakeoverPolicy)
	}, testenv.Wait, testenv.Tick)
	l.ask(l.child, kopiurv1.MaintenanceFull)
	l.until(l.child, kopiurv1.ConditionLeaseOwned, metav1.ConditionTrue, kopiurv1.ReasonLeaseOwned)
	l.settled()
	assert.NotEmpty(t, l.child.Status.Ownership.ClaimedAt)
}

// TestARequestThatCannotBeRead runs nothing and says so; a failure is tried again.
func TestARequestThatCannotBeRead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Create(repository("nas"))
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.Annotate(l.child, kopiurv1.AnnotationRunRequested, "now")
	l.until(l.child, kopiurv1.ConditionRunRequested, metav1.ConditionFalse, kopiurv1.ReasonInvalidRunRequest)
	assert.Empty(t, l.runs())
	l.Mover(maintaining(func(c testenv.Call) testenv.Play { return testenv.Fail(c, work.CodeUnknown, "no idea") }))
	l.ask(l.child, kopiurv1.MaintenanceQuick)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceFailed)
	assert.Equal(t, kopiurv1.RunFailed, l.child.Status.ManualRun.Phase)
	assert.Equal(t, int32(1), l.child.Status.Quick.ConsecutiveFailures)
	l.settled()
	l.Mover(testenv.Succeed)
	l.clock.Step(30 * time.Minute)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
}

// TestKilledAfterAnyWrite kills the controller after its first, second, … write of a run. The next one finds what the first
// did not live to learn: one mover, one outcome, and no Lease that is left.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 11
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4, 5, 6, 7, 8) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			r := repository("nas")
			l.Create(r)
			first := l.StartController(l.clock.Decisions)
			l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
			l.configured(r, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceConfigured, "")
			first.Stop()

			l.ask(l.child, kopiurv1.MaintenanceFull)
			kill := l.KillAfter(n)
			second := l.StartController(l.clock.Decisions)
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			second.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController(l.clock.Decisions)
			l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
			l.settled()
			assert.Len(t, l.runs(), 1, "killed after %v", kill.Writes())
			assert.Equal(t, kopiurv1.RunSucceeded, l.child.Status.ManualRun.Phase)
			l.Quiet(l.child, 500*time.Millisecond)
		})
	}
}
