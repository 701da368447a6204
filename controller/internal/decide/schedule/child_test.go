// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
)

func types(i int) ktypes.UID { return ktypes.UID(fmt.Sprintf("u-%d", i)) }

// TestWhatIsMade: names follow from what they are for, and everything that others go by is on the Snapshot from the start.
func TestWhatIsMade(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 13 * * *")
	m.look()
	m.clock = at("2026-03-05T13:00:00Z")
	s := m.look().Create[0]
	assert.Equal(t, "nightly-20260305-130000", s.Name)
	assert.Equal(t, map[string]string{
		kopiurv1.LabelManagedBy: "kopiur", kopiurv1.LabelSchedule: "nightly", kopiurv1.LabelOrigin: "scheduled",
		kopiurv1.LabelConfig: "web", kopiurv1.LabelPolicy: "web",
	}, s.Labels)
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "kopiur.home-operations.com/v1alpha1", Kind: "SnapshotSchedule", Name: "nightly", UID: "u-1", Controller: new(true),
	}}, s.OwnerReferences)
	assert.Equal(t, kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}, OnScheduleDelete: kopiurv1.CascadeRetain}, s.Spec,
		"the deletionPolicy is left to the policy's default (D-8)")
	assert.Equal(t, "nightly-20260305-130000-"+schedule.OtherName(s)[len(s.Name)+1:], schedule.OtherName(s))

	long := newSim(t, "0 13 * * *", func(s *kopiurv1.SnapshotSchedule) { s.Name = strings.Repeat("a", 60) })
	long.w.Policies[0].Spec.Sources = append(long.w.Policies[0].Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "more"}})
	long.w.Policies[0].Spec.Repository, long.w.Policies[0].Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite", Kind: kopiurv1.KindClusterRepository}}
	long.until("2026-03-05T13:10:00Z")
	require.Len(t, long.w.Children, 4)
	names := map[string]bool{}
	for _, c := range long.w.Children {
		assert.LessOrEqual(t, len(c.Name), 63)
		names[c.Name] = true
		require.NotNil(t, c.Spec.Source)
		require.NotNil(t, c.Spec.Repository)
	}
	assert.Len(t, names, 4)
	assert.Equal(t, "apps", long.w.Children[0].Spec.Repository.Namespace, "spelt out")
}

// TestHistory: failed runs are counted once, and their Snapshots go once they are counted.
func TestHistory(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.FailedJobsHistoryLimit = new(int32(2)) })
	m.until("2026-03-05T13:30:00Z")
	assert.Equal(t, "2026-03-05T13:00:00Z", m.w.Schedule.Status.LastSuccessfulSchedule.Slot)
	for hour := 14; hour < 20; hour++ {
		m.clock = at(fmt.Sprintf("2026-03-05T%d:00:00Z", hour))
		m.look()
		m.finish(kopiurv1.SnapshotFailed)
		m.look()
	}
	st := m.w.Schedule.Status
	assert.Equal(t, int32(6), st.ConsecutiveFailures, "those that went are counted still")
	assert.Equal(t, "2026-03-05T19:00:00Z", st.LastFailedSchedule.Slot)
	var failed []string
	for _, c := range m.w.Children {
		if c.Status.Phase == kopiurv1.SnapshotFailed {
			failed = append(failed, c.Name)
		}
	}
	assert.Equal(t, []string{"nightly-20260305-180000", "nightly-20260305-190000"}, failed)

	m.until("2026-03-05T20:30:00Z")
	st = m.w.Schedule.Status
	assert.Zero(t, st.ConsecutiveFailures)
	assert.Equal(t, "2026-03-05T20:00:00Z", st.LastSuccessfulSchedule.At)
	assert.Equal(t, "UTC", st.LastSuccessfulSchedule.Timezone)
}

// TestNoFailedOneIsKept where the limit is 0: it goes right after it was counted.
func TestNoFailedOneIsKept(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.FailedJobsHistoryLimit = new(int32(0)) })
	m.until("2026-03-05T13:30:00Z", true)
	m.finish(kopiurv1.SnapshotFailed)
	assert.Empty(t, m.look().Prune)
	assert.Equal(t, int32(1), m.w.Schedule.Status.ConsecutiveFailures)
	assert.Equal(t, time.Second, m.plan.After)
	assert.Len(t, m.look().Prune, 1)
}

// TestRecordsThatStoredNothing: nothing but this would ever remove them.
func TestRecordsThatStoredNothing(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *")
	for range 30 {
		m.clock = m.clock.Add(time.Hour)
		m.look()
		m.finish(kopiurv1.SnapshotUnchanged)
		m.look()
		m.look()
	}
	assert.Len(t, m.w.Children, 10)
	assert.Zero(t, m.w.Schedule.Status.ConsecutiveFailures, "an unchanged source is a success (D-10)")
}

// TestWhatIsNotPruned by failedJobsHistoryLimit.
func TestWhatIsNotPruned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*kopiurv1.Snapshot)
		want bool
	}{
		"a failed one goes":             {func(*kopiurv1.Snapshot) {}, true},
		"a pinned one stays":            {func(s *kopiurv1.Snapshot) { s.Spec.Pin = true }, false},
		"one that is pinned still":      {func(s *kopiurv1.Snapshot) { s.Status.Pinned = new(true) }, false},
		"one that succeeded":            {func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotSucceeded }, false},
		"one that runs":                 {func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotRunning }, false},
		"one that is being deleted":     {func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = new(metav1.Now()) }, false},
		"one that has not been counted": {func(s *kopiurv1.Snapshot) { s.Annotations[kopiurv1.AnnotationScheduleSlot] = "2026-03-05T14:00:00Z" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSim(t, "0 * * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.FailedJobsHistoryLimit = new(int32(0)) })
			s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{kopiurv1.AnnotationScheduleSlot: "2026-03-05T13:00:00Z"}}}
			s.Status.Phase, s.Spec.OnScheduleDelete = kopiurv1.SnapshotFailed, kopiurv1.CascadeRetain
			tc.edit(s)
			m.w.Children = []*kopiurv1.Snapshot{s}
			m.w.Schedule.Status.LastFailedSchedule = &kopiurv1.ScheduleSlot{Slot: "2026-03-05T13:00:00Z"}
			assert.Equal(t, tc.want, len(schedule.Decide(m.w, m.clock).Prune) == 1)
		})
	}
}

// TestMarksThatAreTakenBack: what was marked to be deleted and stays must not be taken for Kopiur's own deletion later.
func TestMarksThatAreTakenBack(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *", concurrency(kopiurv1.ConcurrencyReplace))
	m.until("2026-03-05T13:30:00Z", true)
	s := m.w.Children[0]
	running(s)
	s.Annotations[kopiurv1.AnnotationPrunedBy] = kopiurv1.PrunedByReplacedRun
	m.clock = at("2026-03-05T14:00:00Z")
	p := schedule.Decide(m.w, m.clock)
	assert.Len(t, p.Replace, 1)
	assert.Empty(t, p.Unstamp, "it is about to be deleted")
	s.Status.Phase = kopiurv1.SnapshotSucceeded
	assert.Len(t, schedule.Decide(m.w, m.clock).Unstamp, 1, "it was faster")
	s.Annotations[kopiurv1.AnnotationPrunedBy] = kopiurv1.PrunedByRetention
	assert.Empty(t, schedule.Decide(m.w, m.clock).Unstamp, "that is the policy's business")
}

// TestOnScheduleDelete is passed on to what was made before.
func TestOnScheduleDelete(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *")
	m.until("2026-03-05T17:30:00Z")
	assert.Empty(t, m.look().Propagate)
	m.edit(func(s *kopiurv1.SnapshotSchedule) {
		s.Spec.Deletion = &kopiurv1.ScheduleDeletion{OnScheduleDelete: kopiurv1.CascadeDelete}
	})
	m.w.Children[0].DeletionTimestamp = new(metav1.Now())
	m.w.Children[1].Status.Phase = kopiurv1.SnapshotFailed // before a mover ran: an edit would try it again
	m.w.Children[2].Status.Phase, m.w.Children[2].Status.Timing = kopiurv1.SnapshotFailed, &kopiurv1.Timing{}
	p := m.look()
	assert.Equal(t, m.w.Children[2:], p.Propagate)
	assert.Equal(t, kopiurv1.CascadeDelete, p.OnScheduleDelete)
}
