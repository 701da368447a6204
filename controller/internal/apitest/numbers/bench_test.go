// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package numbers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// patience is how long a measurement may take before it is given up.
const patience = 30 * time.Minute

// town is everything that lives beside what is measured.
type town struct {
	*lab
	size sizes
	// first repository and policy, which has no snapshots yet.
	nas  *kopiurv1.Repository
	web  *kopiurv1.SnapshotPolicy
	seen *moments
}

// TestNumbers measures the budgets of the controller. One process plays controller, movers and users, on the machine of
// the API server: on two cores they are in each other's way.
func TestNumbers(t *testing.T) {
	s := sizesOf()
	l := newLab(t)
	c := &town{lab: l, size: s}
	began := time.Now()
	cascade := c.build()
	t.Logf("%d Snapshots, %d policies, %d repositories, %d namespaces, %d Secrets made in %.0f s",
		s.snapshots, s.policies, s.repositories, s.namespaces, s.secrets, time.Since(began).Seconds())
	c.seen = l.watch()
	asked := l.Audit()
	began = time.Now()
	l.StartController(everywhere)
	l.is(c.nas, kopiurv1.ConditionReady, metav1.ConditionTrue)
	l.is(c.web, kopiurv1.ConditionReady, metav1.ConditionTrue)
	c.atRest(asked)
	c.coldStart(asked, began)

	for _, m := range []struct {
		id  string
		run func(*testing.T)
	}{
		{"C1", c.rest},
		{"C5", c.backups},
		{"C8", c.single},
		{"C7", c.corrected},
		{"C11", func(t *testing.T) { c.deletions(t, cascade) }},
	} {
		if measures(t, m.id) || m.id == "C5" && measures(t, "C6") {
			t.Run(m.id, m.run)
		}
	}
}

// TestOutage is C10, by a clock that is moved.
func TestOutage(t *testing.T) {
	if !measures(t, "C10") {
		return
	}
	repositories, schedules := 2, 50
	got := newLab(t).outage(repositories, schedules)
	note := fmt.Sprintf("%d hourly schedules, %d repositories, eight hours", schedules, repositories)
	publish(t, row{ID: "C10/jobs", What: "failed Jobs of a repository after a night without the store", Value: value{exactly(float64(got.jobs)), count}, Bound: &bound{Budget: 1}, Note: note})
	publish(t, row{ID: "C10/snapshots", What: "failed backups of that night", Value: value{exactly(float64(got.snapshots)), count}})
	publish(t, row{ID: "C10", What: "backups of a schedule to make up for it", Value: value{spread{Median: float64(got.most), Min: float64(got.fewest), Max: float64(got.most), N: schedules}, count}, Bound: &bound{Budget: 1}})
}

// everywhere lets the controller watch all namespaces, as an installation does.
func everywhere(o *setup.Options) { o.WatchNamespaces = nil }

// build makes the town. It returns the policy whose Snapshots will be deleted, a thousand of those there are.
func (c *town) build() *kopiurv1.SnapshotPolicy {
	c.t.Helper()
	namespaces := []string{c.Namespace}
	for len(namespaces) < c.size.namespaces {
		namespaces = append(namespaces, c.AddNamespace())
	}
	c.each(c.size.secrets, func(ctx context.Context, i int) error {
		s := testenv.Secret(fmt.Sprintf("other-%d", i), map[string]string{"key": "value"})
		s.Namespace = namespaces[i%len(namespaces)]
		return c.Client.Create(ctx, s)
	})
	for _, ns := range namespaces {
		c.claim(ns)
	}
	var repositories []*kopiurv1.Repository
	for i := range c.size.repositories {
		repositories = append(repositories, c.repository(namespaces[i%len(namespaces)], fmt.Sprintf("repo-%d", i)))
	}
	c.nas = repositories[0]
	c.web = c.policy(c.nas, "web")
	cascade := c.policy(repositories[1], "cascade", func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
	})
	c.stored(cascade, 1000)
	left, others := c.size.snapshots-1000, c.size.policies-2
	for i := range others {
		p := c.policy(repositories[i%len(repositories)], fmt.Sprintf("policy-%d", i))
		if n := left / (others - i); n > 0 {
			c.stored(p, n)
			left -= n
		}
	}
	return cascade
}

// atRest waits for the end of what the start has brought.
func (c *town) atRest(asked *testenv.Audit) {
	c.t.Helper()
	last, since := -1, time.Now()
	require.Eventually(c.t, func() bool {
		if n := len(asked.Requests()); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 5*time.Second
	}, patience, 500*time.Millisecond)
}

// coldStart tells C3 and C4 by the way.
func (c *town) coldStart(asked *testenv.Audit, began time.Time) {
	c.t.Helper()
	watches, end := map[string]bool{}, began
	for _, r := range asked.All() {
		if r.Watch() {
			watches[r.Resource] = true
		}
		if r.Received.After(end) {
			end = r.Received
		}
	}
	if measures(c.t, "C3") {
		publish(c.t, row{ID: "C3", What: "kinds watched from a cold start", Value: value{exactly(float64(len(watches))), count}, Bound: &bound{20, 14}})
	}
	if measures(c.t, "C4") {
		publish(c.t, row{
			ID: "C4", What: "cold start to the last request", Value: value{exactly(end.Sub(began).Seconds()), seconds}, Bound: &bound{15, 5},
			Note: fmt.Sprintf("%d repositories were connected to and %d policies judged for the first time", c.size.repositories, c.size.policies),
		})
	}
}

// rest is C1: the budget's ten minutes in the full form, one in the short one.
func (c *town) rest(t *testing.T) {
	window := time.Minute
	if c.size.snapshots >= 10000 {
		window = 10 * time.Minute
	}
	asked := c.Audit()
	timer := time.NewTimer(window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
	var lists, gets, writes float64
	list := asked.Requests()
	for _, r := range list {
		switch {
		case r.Writes():
			writes++
		case r.Verb == "list":
			lists++
		default:
			gets++
		}
	}
	note := fmt.Sprintf("in %s with %d Snapshots", window, c.size.snapshots)
	if len(list) > 0 {
		note += ": " + testenv.Told(testenv.Tally(list))
	}
	publish(t, row{ID: "C1/lists", What: "LIST requests at rest", Value: value{exactly(lists), count}, Bound: &bound{Budget: 0}, Note: note})
	publish(t, row{ID: "C1/gets", What: "GET requests at rest, a second", Value: value{exactly(gets / window.Seconds()), count}, Bound: &bound{Budget: 0.1}})
	publish(t, row{ID: "C1/writes", What: "writes at rest", Value: value{exactly(writes), count}, Bound: &bound{Budget: 0}})
}

// backups is C5 and C6: a hundred Snapshots at once, several times.
func (c *town) backups(t *testing.T) {
	const n = 100
	var p99, requests []float64
	var all, late []time.Duration
	var told string
	for round := range c.size.rounds {
		asked := c.Audit()
		began := make([]time.Time, n)
		list := make([]*kopiurv1.Snapshot, n)
		var mu sync.Mutex
		c.each(n, func(ctx context.Context, i int) error {
			s := &kopiurv1.Snapshot{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.web.Namespace, Name: fmt.Sprintf("at-once-%d-%d", round, i)},
				Spec:       kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: c.web.Name}},
			}
			mu.Lock()
			began[i], list[i] = time.Now(), s
			mu.Unlock()
			return c.Client.Create(ctx, s)
		})
		require.Eventually(t, func() bool { return c.seen.readyAll(list) == n }, patience, 20*time.Millisecond)
		c.atRest(asked)
		var took []time.Duration
		c.seen.mu.Lock()
		for i, s := range list {
			took = append(took, c.seen.job[s.UID].Sub(began[i]))
			late = append(late, c.seen.ready[s.UID].Sub(c.seen.ended[s.UID]))
		}
		c.seen.mu.Unlock()
		all = append(all, took...)
		p99 = append(p99, worst(took))
		bill := costs(asked.Requests())
		requests = append(requests, float64(len(bill))/n)
		told = testenv.Told(testenv.Tally(bill))
	}
	if measures(t, "C5") {
		publish(t, row{ID: "C5", What: "Snapshot created to mover Job created, 100 at once, the 99th of 100", Value: value{numbers(p99), seconds}, Bound: &bound{2, 0.3}, Note: fmt.Sprintf("median %.2f s", of(all).Median)})
		publish(t, row{ID: "C8/100", What: "mover ended to Ready, 100 at once, the 99th of 100", Value: value{exactly(worst(late)), seconds}, Note: fmt.Sprintf("median %.2f s", of(late).Median)})
	}
	if measures(t, "C6") {
		publish(t, row{ID: "C6", What: "requests of a backup", Value: value{numbers(requests), count}, Bound: &bound{requestsOfABackup, 8}, Note: "of the last 100: " + told})
	}
}

func numbers(list []float64) spread {
	var out []time.Duration
	for _, v := range list {
		out = append(out, time.Duration(v*float64(time.Second)))
	}
	return of(out)
}

// single is C8: one backup after the other.
func (c *town) single(t *testing.T) {
	var late, took []time.Duration
	for i := range 10 * c.size.rounds {
		began := time.Now()
		list := c.snapshots(c.web, fmt.Sprintf("single-%d", i), 1)
		require.Eventually(t, func() bool { return c.seen.readyAll(list) == 1 }, patience, 5*time.Millisecond)
		c.seen.mu.Lock()
		late = append(late, c.seen.ready[list[0].UID].Sub(c.seen.ended[list[0].UID]))
		took = append(took, c.seen.job[list[0].UID].Sub(began))
		c.seen.mu.Unlock()
	}
	publish(t, row{ID: "C8", What: "first pod status that has ended to Ready=True, one at a time", Value: value{of(late), seconds}, Bound: &bound{1, 0.25}})
	publish(t, row{ID: "C5/1", What: "Snapshot created to mover Job created, one at a time", Value: value{of(took), seconds}})
}

// corrected is C7: a Secret that is made right wakes its failed repository.
func (c *town) corrected(t *testing.T) {
	var took []time.Duration
	right := false
	c.Mover(func(call testenv.Call) testenv.Play {
		if call.Spec.Operation.Bootstrap != nil && !right && call.Spec.Repository.Name == "Repository "+c.Namespace+"/wrong" {
			return testenv.Fail(call, work.CodeAuthFailure, "the password is wrong")
		}
		return testenv.Succeed(call)
	})
	r := c.repository(c.Namespace, "wrong")
	password := testenv.Secret("wrong-password", nil)
	password.Namespace = c.Namespace
	for range 5 * c.size.rounds {
		c.is(r, kopiurv1.ConditionStalled, metav1.ConditionTrue)
		asked := c.Audit()
		c.still(asked, time.Second)
		c.seen.forget(r.UID)
		began := time.Now()
		c.Touch(password)
		require.Eventually(t, func() bool { _, ok := c.seen.jobOf(r.UID); return ok }, patience, 2*time.Millisecond)
		at, _ := c.seen.jobOf(r.UID)
		took = append(took, at.Sub(began))
		require.EventuallyWithT(t, func(ct *assert.CollectT) {
			c.GetC(ct, r)
			assert.NotEmpty(ct, r.Status.Job.FinishedAt)
		}, testenv.Wait, testenv.Tick)
	}
	publish(t, row{ID: "C7", What: "Secret corrected to a failed repository that tries again", Value: value{of(took), seconds}, Bound: &bound{2, 0.3}})
}

// deletions is C11: a policy takes a thousand Snapshots along.
func (c *town) deletions(t *testing.T, p *kopiurv1.SnapshotPolicy) {
	const n = 1000
	state := func() (left, held int) {
		var list kopiurv1.SnapshotList
		require.NoError(t, c.Client.List(t.Context(), &list, labelled(p)...))
		for i := range list.Items {
			for _, k := range list.Items[i].Status.Conditions {
				if k.Type == kopiurv1.ConditionDeletionHeld && k.Status == metav1.ConditionTrue {
					held++
				}
			}
		}
		return len(list.Items), held
	}
	deletes := func() (jobs, members int) {
		for _, call := range c.Calls() {
			if op := call.Spec.Operation.Delete; op != nil {
				jobs++
				members += len(op.Members)
			}
		}
		return jobs, members
	}
	asked := c.Audit()
	began := time.Now()
	require.NoError(t, c.Client.Delete(t.Context(), p))
	require.Eventually(t, func() bool { _, held := state(); return held == n }, patience, time.Second)
	holding := time.Since(began)
	early, _ := deletes()
	require.Zero(t, early, "nothing is deleted while it is held")

	repo := &kopiurv1.Repository{}
	repo.Namespace, repo.Name = p.Spec.Repository.Namespace, p.Spec.Repository.Name
	began = time.Now()
	c.Annotate(repo, kopiurv1.AnnotationAllowMassDeletion, began.UTC().Format(time.RFC3339))
	require.Eventually(t, func() bool { left, _ := state(); return left == 0 }, patience, time.Second)
	took := time.Since(began)
	jobs, members := deletes()
	require.Equal(t, n, members, "each of them once")
	bill := asked.Requests()
	publish(t, row{ID: "C11/held", What: "1,000 Snapshots deleted by a cascade to all of them held", Value: value{exactly(holding.Seconds()), seconds}})
	publish(t, row{ID: "C11/jobs", What: "Jobs after the acknowledgement", Value: value{exactly(float64(jobs)), count}, Bound: &bound{Budget: 5}})
	publish(t, row{
		ID: "C11", What: "acknowledgement to the last of 1,000 gone", Value: value{exactly(took.Seconds()), seconds}, Bound: &bound{Budget: 120},
		Note: fmt.Sprintf("%.1f requests for each Snapshot: %s", float64(len(bill))/n, testenv.Told(testenv.Tally(bill))),
	})
}
