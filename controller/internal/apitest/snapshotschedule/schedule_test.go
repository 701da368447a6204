// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotschedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestAScheduleMakesBackups: each at its time, once, with all that others go by; at rest nothing is written (D-8, E-5).
func TestAScheduleMakesBackups(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.DefaultDeletionPolicy = kopiurv1.DeletionRetain
	l.start()
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
	first := l.toNext()
	s := l.arrive(1, kopiurv1.SnapshotSucceeded)[0]
	assert.Equal(t, "hourly-"+first.UTC().Format("20060102-150405"), s.Name)
	assert.Equal(t, kopiurv1.OriginScheduled, s.Status.Origin)
	assert.Equal(t, first.Format(time.RFC3339), slot(&s))
	require.Len(t, s.OwnerReferences, 1)
	assert.Equal(t, l.schedule.UID, s.OwnerReferences[0].UID)
	assert.Equal(t, kopiurv1.CascadeRetain, s.Spec.OnScheduleDelete)
	assert.Empty(t, s.Spec.DeletionPolicy, "the policy's default decides")
	l.recorded(true)
	st := l.schedule.Status
	assert.Equal(t, kopiurv1.ScheduleSlot{At: first.Format(time.RFC3339), Slot: first.Format(time.RFC3339), Timezone: "UTC", SnapshotRef: &kopiurv1.LocalRef{Name: s.Name}}, *st.LastSchedule)
	assert.Equal(t, st.LastSchedule, st.LastSuccessfulSchedule)
	assert.Equal(t, first.Add(time.Hour).Format(time.RFC3339), st.NextSchedule.At)

	second := l.toNext()
	assert.Equal(t, time.Hour, second.Sub(first))
	l.arrive(2, kopiurv1.SnapshotSucceeded)
	l.recorded(true)
	l.time.Step(30 * time.Minute) // three looks at the clock
	l.Quiet(l.schedule, 2*time.Second)
	l.told(corev1.EventTypeNormal, kopiurv1.ReasonScheduled, "Created Snapshot hourly-")
}

// told waits for an event about the schedule.
func (l *lab) told(kind, reason, note string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list corev1.EventList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
		var notes []string
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == "SnapshotSchedule" && e.Type == kind && e.Reason == reason {
				notes = append(notes, e.Message)
			}
		}
		if assert.NotEmpty(c, notes) {
			assert.Contains(c, notes[0], note)
		}
	}, testenv.Wait, testenv.Tick)
}

// TestTheFirstRunAtOnce and the others as cron says; suspended none; a status without anything to do.
func TestTheFirstRunAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.schedule.Spec.Schedule.RunOnCreate = true
	l.start()
	l.arrive(1, kopiurv1.SnapshotSucceeded)
	l.recorded(true)
	l.toNext()
	l.arrive(2, kopiurv1.SnapshotSucceeded)

	l.Change(l.schedule, func() { l.schedule.Spec.Schedule.Suspend = true })
	l.says(kopiurv1.ConditionSuspended, metav1.ConditionTrue, kopiurv1.ReasonSuspended)
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
	assert.Nil(t, l.schedule.Status.NextSchedule, "there is no next run")
	l.time.Step(5 * time.Hour)
	l.Quiet(l.schedule, time.Second)
	l.arrive(2, kopiurv1.SnapshotSucceeded)

	l.Change(l.schedule, func() { l.schedule.Spec.Schedule.Suspend = false })
	next := l.pinned()
	assert.Less(t, next.Sub(l.time.Now()), time.Hour, "what was left out is not made up for")
	l.toNext()
	l.arrive(3, kopiurv1.SnapshotSucceeded)
}

// TestAStoreThatIsLostForANightC1: one Snapshot waits through the night, and it is the one that follows.
func TestAStoreThatIsLostForANightC1(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	l.toNext()
	l.arrive(1, kopiurv1.SnapshotSucceeded)
	// A repository that is not Ready is what an outage comes to: spec.suspend says the same to those who use it.
	l.Change(l.repository, func() { l.repository.Spec.Suspend = true })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Equal(c, kopiurv1.ReasonRepositoryNotReady, testenv.Condition(l.policy.Status.Conditions, kopiurv1.ConditionReady).Reason)
	}, testenv.Wait, testenv.Tick)
	for range 8 {
		l.toNext()
	}
	list := l.snapshots()
	require.Len(t, list, 2)
	assert.Equal(t, kopiurv1.SnapshotPending, list[1].Status.Phase)
	l.told(corev1.EventTypeWarning, kopiurv1.ReasonRunSkipped, "it stands for this run")

	l.Change(l.repository, func() { l.repository.Spec.Suspend = false })
	l.arrive(2, kopiurv1.SnapshotSucceeded)
	l.toNext()
	l.arrive(3, kopiurv1.SnapshotSucceeded)
	var backups int
	for _, c := range l.Calls() {
		if c.Spec.Operation.Snapshot != nil {
			backups++
		}
	}
	assert.Equal(t, 3, backups, "no mover but theirs was started")
}

// TestANightWithoutTheControllerC1 is one run, and its status says which.
func TestANightWithoutTheControllerC1(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.start()
	l.toNext()
	l.arrive(1, kopiurv1.SnapshotSucceeded)
	l.recorded(true)
	l.pinned()
	c.Stop()
	l.time.Step(9 * time.Hour)
	l.StartController(l.time.Decisions)
	l.told(corev1.EventTypeWarning, kopiurv1.ReasonRunMissed, "makes up for all that were missed")
	assert.LessOrEqual(t, l.pinned().Sub(l.time.Now()), 5*time.Minute)
	l.toNext()
	l.arrive(2, kopiurv1.SnapshotSucceeded)
	l.recorded(true)
	l.pinned()
	l.arrive(2, kopiurv1.SnapshotSucceeded)
}

// TestReplaceAndFailedHistoryAreOurOwn: neither waits for anybody, although the repository holds every deletion of others.
func TestReplaceAndFailedHistoryAreOurOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.repository.Spec.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: new(int32(1))}
	l.schedule.Spec.Schedule.ConcurrencyPolicy = kopiurv1.ConcurrencyReplace
	l.schedule.Spec.FailedJobsHistoryLimit = new(int32(1))
	hold := make(chan struct{})
	defer close(hold)
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Snapshot != nil {
			p.Hold = hold
		}
		return p
	})
	l.start()
	l.toNext()
	first := l.arrive(1, kopiurv1.SnapshotRunning)[0]
	l.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Snapshot == nil {
			return testenv.Succeed(c)
		}
		return testenv.Fail(c, work.CodePermissionDenied, "no")
	})
	l.toNext()
	second := l.arrive(1, kopiurv1.SnapshotFailed)[0]
	assert.NotEqual(t, first.Name, second.Name, "the first gave way")
	l.told(corev1.EventTypeNormal, kopiurv1.ReasonRunReplaced, first.Name)
	l.recorded(false)
	for n := 2; n <= 4; n++ {
		l.toNext()
		l.recorded(false)
		assert.Equal(t, int32(n), l.schedule.Status.ConsecutiveFailures)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			list := l.snapshots()
			if assert.Len(c, list, 1, "the older one goes") {
				assert.Equal(c, l.schedule.Status.LastSchedule.SnapshotRef.Name, list[0].Name)
			}
		}, testenv.Wait, testenv.Tick)
	}
}

// TestWhatBecomesOfItsSnapshots follows an edit, and a schedule that goes.
func TestWhatBecomesOfItsSnapshots(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	l.toNext()
	l.arrive(1, kopiurv1.SnapshotSucceeded)
	l.Change(l.schedule, func() {
		l.schedule.Spec.Deletion = &kopiurv1.ScheduleDeletion{OnScheduleDelete: kopiurv1.CascadeDelete}
	})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, kopiurv1.CascadeDelete, l.snapshots()[0].Spec.OnScheduleDelete)
	}, testenv.Wait, testenv.Tick)
	s := l.snapshots()[0]
	assert.Equal(t, kopiurv1.SnapshotSucceeded, s.Status.Phase, "and nothing is run again for it")
	require.NoError(t, l.Client.Delete(t.Context(), l.schedule))
	l.Get(&s)
	assert.Nil(t, s.DeletionTimestamp, "removing it is the garbage collector's")
}

// TestSomebodyElsesSnapshot has the name that a run needs.
func TestSomebodyElsesSnapshot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	at := l.pinned()
	theirs := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "hourly-" + at.UTC().Format("20060102-150405")}}
	theirs.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "nothing"}
	l.Create(theirs)
	l.toNext()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list := l.snapshots()
		if assert.Len(c, list, 2) {
			assert.Regexp(c, "^"+theirs.Name+"-[0-9a-f]{8}$", list[0].Name)
			assert.Equal(c, l.schedule.Status.LastSchedule.SnapshotRef.Name, list[0].Name)
		}
	}, testenv.Wait, testenv.Tick)
}
