// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestDeletingASnapshotDeletesItsData: the manifest first, the object after it, the Job last.
func TestDeletingASnapshotDeletesItsData(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(3)
	hold := make(chan struct{})
	l.onDelete(func(c testenv.Call, _ int) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	})
	l.run()
	l.remove(list[0], list[2])
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[0], list[2])
	assert.Equal(t, kopiurv1.SnapshotDeleting, list[0].Status.Phase)
	assert.Empty(t, l.jobs(), "deletions are gathered first")

	l.quiet()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionRunning, list[0], list[2])
	jobs := l.jobs()
	require.Len(t, jobs, 1)
	job := jobs[0]
	assert.Nil(t, job.Spec.TTLSecondsAfterFinished, "nothing but its members' consent removes it")
	assert.Regexp(t, "^snapdel-nas-[0-9a-f]{8}$", job.Name)
	var members []map[string]string
	require.NoError(t, json.Unmarshal([]byte(job.Annotations[kopiurv1.AnnotationDeleteMembers]), &members))
	assert.ElementsMatch(t, []map[string]string{
		{"namespace": l.Namespace, "name": "s000", "uid": string(list[0].UID), "snapshotID": "k000"},
		{"namespace": l.Namespace, "name": "s002", "uid": string(list[2].UID), "snapshotID": "k002"},
	}, members, "the record of what is deleted for whom")

	close(hold)
	l.gone(list[0], list[2])
	l.Get(list[1])
	id := work.Identity{Username: "web", Hostname: l.Namespace, Path: "/pvc/data"}
	assert.ElementsMatch(t, []work.SnapshotKey{
		{SnapshotID: "k000", Identity: id, StartTime: start}, {SnapshotID: "k002", Identity: id, StartTime: start.Add(2 * time.Hour)},
	}, l.deleted())
}

// TestABackupIsGuarded: the object of a backup stays from the moment its mover may store something.
func TestABackupIsGuarded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	claim := testenv.Claim("data")
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}}}
	l.Create(claim, s)
	l.run()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotSucceeded, s)
	assert.Contains(t, s.Finalizers, kopiurv1.FinalizerSnapshot)
	assert.Equal(t, kopiurv1.DeletionDelete, s.Status.Resolved.DeletionPolicy)
	l.remove(s)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, s)
	l.quiet()
	l.gone(s)
	require.Len(t, l.deleted(), 1)
	assert.Equal(t, "k"+string(s.UID), l.deleted()[0].SnapshotID)
}

// TestWhatKeepsData: the object goes at once, and no mover is started.
func TestWhatKeepsData(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(l *lab, s *kopiurv1.Snapshot){
		"Retain of the Snapshot": func(_ *lab, s *kopiurv1.Snapshot) { s.Spec.DeletionPolicy = kopiurv1.DeletionRetain },
		"Orphan of the Snapshot": func(_ *lab, s *kopiurv1.Snapshot) { s.Spec.DeletionPolicy = kopiurv1.DeletionOrphan },
		"Retain by default (D-8)": func(l *lab, _ *kopiurv1.Snapshot) {
			l.policy.Spec.DefaultDeletionPolicy = kopiurv1.DeletionRetain
		},
		"Retain by default, for a schedule's (D-8)": func(l *lab, s *kopiurv1.Snapshot) {
			l.policy.Spec.DefaultDeletionPolicy = kopiurv1.DeletionRetain
			s.Status.Origin, s.Spec.OnScheduleDelete = kopiurv1.OriginScheduled, kopiurv1.CascadeDelete
		},
		"a discovered row": func(_ *lab, s *kopiurv1.Snapshot) {
			s.Spec, s.Status.Phase, s.Status.Origin = kopiurv1.SnapshotSpec{}, kopiurv1.SnapshotDiscovered, kopiurv1.OriginDiscovered
		},
		"a person's last word": func(_ *lab, s *kopiurv1.Snapshot) {
			s.Annotations = map[string]string{kopiurv1.AnnotationSkipSnapshotCleanup: ""}
		},
		"nothing was stored": func(_ *lab, s *kopiurv1.Snapshot) {
			s.Status.Phase, s.Status.Snapshot = kopiurv1.SnapshotUnchanged, nil
		},
		"nothing says which snapshot": func(_ *lab, s *kopiurv1.Snapshot) {
			s.Status.Snapshot.KopiaSnapshotID, s.Status.Timing = "", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			probe := &kopiurv1.Snapshot{Status: kopiurv1.SnapshotStatus{Snapshot: &kopiurv1.StoredSnapshot{}}}
			edit(l, probe) // what it does to the policy
			l.base()
			list := l.stored(1, func(_ int, s *kopiurv1.Snapshot) { edit(l, s) })
			l.run()
			l.remove(list...)
			l.gone(list...)
			l.untouched()
		})
	}
}

// TestWhatIsAskedOfTheMover: a pinned snapshot and one without an id go by identity and start; two objects of one
// snapshot are two members (K-3, J-4).
func TestWhatIsAskedOfTheMover(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(4, func(i int, s *kopiurv1.Snapshot) {
		switch i {
		case 0:
			s.Spec.Pin, s.Status.Pinned = true, new(true)
		case 1:
			s.Status.Snapshot.KopiaSnapshotID = ""
		case 3:
			s.Status.Snapshot.KopiaSnapshotID, s.Status.Timing.StartTime = "k002", start.Add(2*time.Hour).Format(time.RFC3339)
		}
	})
	l.run()
	l.remove(list...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
	l.quiet()
	l.gone(list...)
	id := work.Identity{Username: "web", Hostname: l.Namespace, Path: "/pvc/data"}
	twice := work.SnapshotKey{SnapshotID: "k002", Identity: id, StartTime: start.Add(2 * time.Hour)}
	assert.ElementsMatch(t, []work.SnapshotKey{
		{SnapshotID: "k000", Identity: id, StartTime: start}, {Identity: id, StartTime: start.Add(time.Hour)}, twice, twice,
	}, l.deleted())
	assert.Len(t, l.deletions(), 1)
}

// TestDeletedWhileItRuns: the mover is told to end, and what it stored at the last moment goes as well.
func TestDeletedWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]bool{"before it stored anything": false, "just after it stored something": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			hold := make(chan struct{})
			l.Mover(func(c testenv.Call) testenv.Play {
				p := testenv.Succeed(c)
				if c.Spec.Operation.Snapshot != nil {
					p.Hold = hold
				}
				return p
			})
			s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}}}
			l.Create(testenv.Claim("data"), s)
			first := l.run()
			l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMoverRunning, s)
			if stores {
				// It ends while nobody looks.
				first.Stop()
				close(hold)
				l.ended(s)
			}
			l.remove(s)
			if stores {
				l.StartController(l.clocks)
				l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, s)
				l.quiet()
			}
			l.gone(s)
			if !stores {
				assert.Empty(t, l.deletions())
				return
			}
			require.Len(t, l.deleted(), 1)
			assert.Equal(t, "k"+string(s.UID), l.deleted()[0].SnapshotID)
			assert.Equal(t, "web", l.deleted()[0].Identity.Username)
		})
	}
}
