// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package numbers_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// night is what an outage has left behind.
type night struct {
	// jobs is the most failed Jobs that a repository has, snapshots how many backups failed.
	jobs, snapshots int
	// runs are the most and the fewest backups of a schedule once the store is back, before its next time.
	most, fewest int
}

// TestANightWithoutTheStoreC1 is the short form of budget C10: the counts are the same for five schedules as for fifty.
func TestANightWithoutTheStoreC1(t *testing.T) { //nolint:paralleltest // it goes by what the whole process looks at
	got := newLab(t).outage(1, 5)
	assert.LessOrEqual(t, got.jobs, 1, "one failed Job says what there is to say")
	assert.Zero(t, got.snapshots, "backups wait")
	assert.Equal(t, 1, got.fewest, "every schedule makes up for the night")
	assert.Equal(t, 1, got.most, "once")
}

// outage plays a night of eight hours without the store, for hourly schedules.
func (l *lab) outage(repositories, schedules int) night {
	l.t.Helper()
	ctx, t := l.t.Context(), l.t
	var down atomic.Bool
	l.Mover(func(c testenv.Call) testenv.Play {
		if down.Load() {
			return testenv.Fail(c, work.CodeRepositoryUnavailable, "no answer")
		}
		return testenv.Succeed(c)
	})
	clock := l.NewTime()
	l.claim(l.Namespace)
	var repos []*kopiurv1.Repository
	for i := range repositories {
		r := l.repository(l.Namespace, fmt.Sprintf("store-%d", i), func(r *kopiurv1.Repository) { r.Spec.Health = nil })
		repos = append(repos, r)
	}
	l.StartController(clock.Decisions)
	for _, r := range repos {
		l.is(r, kopiurv1.ConditionReady, metav1.ConditionTrue)
	}
	for i := range schedules {
		p := l.policy(repos[i%repositories], fmt.Sprintf("policy-%d", i))
		l.Create(&kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: kopiurv1.SnapshotScheduleSpec{
			PolicyRef: &kopiurv1.PolicyRef{Name: p.Name}, Schedule: kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: "0 * * * *"}},
		}})
	}
	// counts are the successful backups by policy, and how many of all are in another phase.
	counts := func() (done map[string]int, failed, open int) {
		var list kopiurv1.SnapshotList
		require.NoError(t, l.Client.List(ctx, &list, client.InNamespace(l.Namespace)))
		done = map[string]int{}
		for i := range list.Items {
			switch s := &list.Items[i]; s.Status.Phase {
			case kopiurv1.SnapshotSucceeded:
				done[s.Spec.PolicyRef.Name]++
			case kopiurv1.SnapshotFailed:
				failed++
			default:
				open++
			}
		}
		return done, failed, open
	}
	// The hour before: each makes its first.
	clock.Step(l.nextSlot(schedules).Sub(clock.Now()))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		done, _, open := counts()
		assert.Len(c, done, schedules)
		assert.Zero(c, open)
	}, testenv.Wait, testenv.Tick)
	l.settled()
	before, _, _ := counts()

	// An hour later their Jobs are gone: none of them stands for a look at the store any more.
	l.expire()
	down.Store(true)
	// It is noticed before the next hour: a look that fails, and two that make sure.
	l.until(clock, 5*time.Minute, 11, repos, kopiurv1.RepositoryDegraded)
	for range 8 {
		clock.Step(l.nextSlot(schedules).Sub(clock.Now()))
		l.settled()
	}
	out := night{}
	_, out.snapshots, _ = counts()
	for _, r := range repos {
		out.jobs = max(out.jobs, l.failedJobs(r))
	}

	down.Store(false)
	l.until(clock, 10*time.Minute, 5, repos, kopiurv1.RepositoryReady)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		done, _, open := counts()
		assert.Zero(c, open)
		for name, n := range before {
			assert.Greater(c, done[name], n)
		}
	}, testenv.Wait, testenv.Tick)
	l.settled()
	after, _, _ := counts()
	out.fewest = schedules
	for name, n := range before {
		out.most, out.fewest = max(out.most, after[name]-n), min(out.fewest, after[name]-n)
	}
	return out
}

// nextSlot waits until all schedules name the same next time, which lies ahead.
func (l *lab) nextSlot(schedules int) time.Time {
	l.t.Helper()
	var at time.Time
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list kopiurv1.SnapshotScheduleList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
		require.Len(c, list.Items, schedules)
		for i := range list.Items {
			next := list.Items[i].Status.NextSchedule
			require.NotNil(c, next)
			require.Equal(c, list.Items[0].Status.NextSchedule.At, next.At)
			parsed, err := time.Parse(time.RFC3339, next.At)
			require.NoError(c, err)
			at = parsed
		}
	}, testenv.Wait, testenv.Tick)
	return at
}

// until lets time pass, a step when everything has come to rest, until all repositories are in a phase.
func (l *lab) until(clock *testenv.Time, step time.Duration, most int, repos []*kopiurv1.Repository, phase kopiurv1.RepositoryPhase) {
	l.t.Helper()
	for range most {
		there := 0
		for _, r := range repos {
			l.Get(r)
			if r.Status.Phase == phase {
				there++
			}
		}
		if there == len(repos) {
			return
		}
		clock.Step(step)
		l.settled()
	}
	require.Fail(l.t, "the repositories are not "+string(phase))
}

// settled waits until every Job is recorded and nothing goes on.
func (l *lab) settled() {
	l.t.Helper()
	l.still(l.Audit(), 1500*time.Millisecond)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list batchv1.JobList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
		for i := range list.Items {
			assert.NotNil(c, list.Items[i].Spec.TTLSecondsAfterFinished, "Job %s", list.Items[i].Name)
		}
	}, testenv.Wait, testenv.Tick)
}

// expire plays the controller that removes Jobs whose time to live is over.
func (l *lab) expire() {
	l.t.Helper()
	var list batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	for i := range list.Items {
		err := l.Client.Delete(l.t.Context(), &list.Items[i], client.PropagationPolicy(metav1.DeletePropagationBackground))
		require.NoError(l.t, client.IgnoreNotFound(err))
	}
}

// failedJobs counts the failed Jobs that use a repository.
func (l *lab) failedJobs(r *kopiurv1.Repository) int {
	l.t.Helper()
	var list batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelRepositoryUID: string(r.UID)}))
	n := 0
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}
