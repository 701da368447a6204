// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	strict := spec(func(s *kopiurv1.RestoreSpec) {
		s.Options = &kopiurv1.RestoreOptions{IgnorePermissionErrors: new(false)}
	})
	tolerant := spec(func(s *kopiurv1.RestoreSpec) { s.Options = &kopiurv1.RestoreOptions{IgnoreErrors: new(true)} })
	unowned := wrote(work.RestoreResult{FilesRestored: 3, BytesRestored: 9, Ownership: work.Ownership{
		Applied: 1, Failed: 2, Paths: []work.EntryFault{{Path: "a", UID: 999, Reason: "EPERM"}, {Path: "b", UID: 999}},
	}})
	for name, tc := range map[string]struct {
		world     restore.World
		wantPhase kopiurv1.RestorePhase
		wantState restore.State
		reason    string
		wantIn    string
	}{
		"a success completes": {
			fromSnapshot(wrote(work.RestoreResult{FilesRestored: 3, BytesRestored: 9, Ownership: work.Ownership{Applied: 3}})),
			kopiurv1.RestoreCompleted, restore.Ready, kopiurv1.ReasonRestoreSucceeded, "3 files with 9 bytes were restored into claim data-new",
		},
		"owners that could not be set are said, and complete (K-5)": {
			fromSnapshot(unowned), kopiurv1.RestoreCompleted, restore.Ready, kopiurv1.ReasonRestoreSucceeded, "runAsUser 999",
		},
		"owners that could not be set fail where that is asked for (K-5)": {
			fromSnapshot(strict, unowned), kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonOwnershipIncomplete, "options.ignorePermissionErrors is false",
		},
		"entries that could not be written fail": {
			fromSnapshot(wrote(work.RestoreResult{EntriesFailed: 2})), kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed, "2 entries could not be written",
		},
		"entries that could not be written are tolerated where that is asked for": {
			fromSnapshot(tolerant, wrote(work.RestoreResult{EntriesFailed: 2})), kopiurv1.RestoreCompleted, restore.Ready, kopiurv1.ReasonRestoreSucceeded, "options.ignoreErrors",
		},
		"a failure is final and says its class": {
			fromSnapshot(failed("restore", work.CodeNoSpace, "the target is full")), kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed, "the target is full",
		},
		"a full claim is named, with what helps": {
			fromSnapshot(failed("restore", work.CodeNoSpace, work.TargetFull)), kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed,
			"claim data-new is too small for snapshot k1; what was written so far is left in it: make the claim larger and raise target.pvc.capacity",
		},
		"so is one of the user, in which nothing was deleted to make room (K-7)": {
			fromSnapshot(existing, claim(""), failed("restore", work.CodeNoSpace, work.TargetFull)), kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed,
			"claim data has no room for snapshot k1; what was written so far is left in it, and nothing was deleted to make room: make the claim larger or free space in it",
		},
		"a device that is too small says by how much": {
			fromSnapshot(existing, claim(""), failed("restore", work.CodeNoSpace, work.TargetFull+": it has 1 bytes, the image 2; nothing was written")),
			kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed, "no room for snapshot k1; it has 1 bytes, the image 2; nothing was written",
		},
		"what an earlier attempt has written is counted apart": {
			fromSnapshot(wrote(work.RestoreResult{FilesRestored: 3, BytesRestored: 9, FilesSkipped: 4})),
			kopiurv1.RestoreCompleted, restore.Ready, kopiurv1.ReasonRestoreSucceeded, "3 files with 9 bytes were restored into claim data-new; 4 more were there already",
		},
		"a mover that does not start is given up": {
			fromSnapshot(outcome(moverjob.Outcome{State: moverjob.Wedged, Message: "pod p: ImagePullBackOff"})),
			kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonMoverPodWedged, "ImagePullBackOff",
		},
		"a mover that its deadline killed is said to be that": {
			fromSnapshot(outcome(moverjob.Outcome{State: moverjob.DeadlineKilled, Terminal: true, Message: "the Job's last deadline passed"})),
			kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonDeadlineKilled, "deadline",
		},
		"a lost node parks: two movers must never write one volume": {
			fromSnapshot(outcome(moverjob.Outcome{State: moverjob.NodeLost, Message: "bring the node back"})),
			kopiurv1.RestoreRestoring, restore.Progressing, kopiurv1.ReasonNodeLost, "bring the node back",
		},
		"a lost result is restored again": {
			fromSnapshot(outcome(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true})),
			kopiurv1.RestoreRestoring, restore.Progressing, kopiurv1.ReasonResultLost, "restoring again",
		},
		"the third lost result in a row is a failure": {
			fromSnapshot(outcome(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true}), status(func(s *kopiurv1.RestoreStatus) { s.Job.Fruitless = 2 })),
			kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonResultLost, "3 movers in a row",
		},
		"a failure of a spec that was edited meanwhile is not the end": {
			fromSnapshot(failed("restore", work.CodePermissionDenied, "no"), func(w *restore.World) { w.Restore.Generation = 2 }),
			kopiurv1.RestorePending, restore.Progressing, kopiurv1.ReasonReopened, "new one",
		},
		"a success of a spec that was edited meanwhile is one": {
			fromSnapshot(wrote(work.RestoreResult{}), func(w *restore.World) { w.Restore.Generation = 2 }),
			kopiurv1.RestoreCompleted, restore.Ready, kopiurv1.ReasonRestoreSucceeded, "",
		},
		"but not of the claim that the spec names by now": {
			fromSnapshot(existing, claim(""), wrote(work.RestoreResult{}), func(w *restore.World) {
				w.Restore.Generation, w.Restore.Spec.Target.PVCRef.Name = 2, "other"
			}),
			kopiurv1.RestorePending, restore.Progressing, kopiurv1.ReasonReopened, "claim data was restored into, and the spec names claim other",
		},
		"nor of the folder that the spec names by now": {
			fromSnapshot(existing, claim(""), wrote(work.RestoreResult{}), func(w *restore.World) {
				w.Restore.Generation, w.Restore.Spec.SubPath = 2, "etc/app"
			}),
			kopiurv1.RestorePending, restore.Progressing, kopiurv1.ReasonReopened, "the spec names etc/app",
		},
		"nor of a part where the spec names all of it by now": {
			fromSnapshot(existing, claim(""), spec(func(s *kopiurv1.RestoreSpec) { s.SubPath = "etc/app" }), wrote(work.RestoreResult{}), func(w *restore.World) {
				w.Restore.Generation, w.Restore.Spec.SubPath = 2, ""
			}),
			kopiurv1.RestorePending, restore.Progressing, kopiurv1.ReasonReopened, "etc/app was restored",
		},
		"a success that says nothing about the restore is not believed": {
			fromSnapshot(result(work.Result{Operation: "restore", Code: work.CodeOK})),
			kopiurv1.RestoreFailed, restore.Stalled, kopiurv1.ReasonRestoreFailed, "not understood",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Equal(t, tc.wantState, p.State)
			assert.Equal(t, tc.reason, p.Reason)
			assert.Contains(t, p.Message, tc.wantIn)
			assert.Nil(t, p.Job)
			assert.Nil(t, p.Retire, "the result is not stored yet (D5)")
			assert.Nil(t, p.Reap, "nor is the verdict")
			if p.State == restore.Stalled {
				require.NotNil(t, p.Status.Failure)
				assert.Equal(t, p.Message, p.Status.Failure.Message)
			}
			next := then(tc.world, p)
			if tc.wantPhase.Terminal() {
				again := restore.Decide(next, now.Add(time.Hour))
				assert.True(t, again.Keep)
				assert.Nil(t, again.Job, "one-shot")
				assert.True(t, again.Retire != nil || again.Reap != nil, "its Job is dealt with once it is stored")
			}
		})
	}
}

func TestSuccessIsRecorded(t *testing.T) {
	t.Parallel()
	w := fromSnapshot(wrote(work.RestoreResult{
		SnapshotID: "k1-repinned", FilesRestored: 3, BytesRestored: 9,
		Ownership: work.Ownership{Applied: 5, Failed: 2, Paths: []work.EntryFault{{Path: "a", UID: 1, Mode: "-rw-------", Reason: "EPERM"}, {Path: "b", UID: 2}}},
	}), func(w *restore.World) { w.Tail = moverjob.Tail{Text: "last words"} })
	p := restore.Decide(w, now)
	s := p.Status
	assert.Equal(t, "k1-repinned", s.Resolved.KopiaSnapshotID, "an id that healed is recorded (K-3, B-5)")
	require.Len(t, p.Notes, 1)
	assert.Equal(t, kopiurv1.ReasonSnapshotIDHealed, p.Notes[0].Reason)
	assert.Equal(t, int64(9), s.Progress.BytesRestored)
	assert.Equal(t, int64(3), s.Progress.FilesRestored)
	assert.Equal(t, &kopiurv1.Timing{StartTime: at(-time.Minute), EndTime: at(-time.Second), DurationSeconds: 59}, s.Timing)
	assert.Equal(t, "last words", s.LogTail)
	assert.Equal(t, at(0), s.Job.EndedAt)
	require.NotNil(t, s.Ownership)
	assert.Equal(t, kopiurv1.EntryFault{Path: "a", UID: 1, Mode: "-rw-------", Reason: "EPERM"}, s.Ownership.Paths[0])
	c := find(p, kopiurv1.ConditionOwnershipApplied)
	assert.Equal(t, metav1.ConditionFalse, c.Status)
	assert.Equal(t, "owner, mode or times of 2 entries could not be set, the first is a of uid 1; they belong to several uids: run the mover with mover.privilegedMode", c.Message)
}

func TestFailedReopens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change change
		opens  bool
	}{
		"time alone does not":                 {func(*restore.World) {}, false},
		"an edited spec does":                 {func(w *restore.World) { w.Restore.Generation = 2 }, true},
		"an edited Secret does":               {func(w *restore.World) { w.Credentials.Version = "2" }, true},
		"a Secret that is missing does not":   {func(w *restore.World) { w.Credentials.Version = "" }, false},
		"a policy or Snapshot that goes away": {func(w *restore.World) { w.Snapshot = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fromSnapshot(failed("restore", work.CodeAuthFailure, "wrong password"))
			w = then(w, restore.Decide(w, now))
			require.Equal(t, kopiurv1.RestoreFailed, w.Restore.Status.Phase)
			w.Job = nil // its time to live is over
			w.Outcome = moverjob.Outcome{State: moverjob.Absent, Terminal: true}
			tc.change(&w)
			p := restore.Decide(w, now.Add(48*time.Hour))
			if !tc.opens {
				assert.True(t, p.Keep)
				assert.Nil(t, p.Job)
				return
			}
			require.NotNil(t, p.Job)
			assert.EqualValues(t, 2, p.Status.Job.Attempts)
			assert.Nil(t, p.Status.Failure)
			assert.Equal(t, w.Credentials.Version, p.Status.ResolvedCredentialVersion)
		})
	}
}

// TestRotatedSecretsOverwriteNothing: the volume that a Restore wrote to before it failed may be in use since.
func TestRotatedSecretsOverwriteNothing(t *testing.T) {
	t.Parallel()
	written := &work.RestoreResult{FilesRestored: 3, BytesRestored: 9, Ownership: work.Ownership{Failed: 1}}
	for name, tc := range map[string]struct {
		result work.Result
		opens  bool
	}{
		"all was written, but for owners":     {work.Result{Code: work.CodePermissionDenied, Restore: written}, false},
		"a full volume":                       {work.Result{Code: work.CodeNoSpace, Restore: written}, false},
		"credentials that expired on the way": {work.Result{Code: work.CodeAccessDenied, Restore: written}, true},
		"nothing was written":                 {work.Result{Code: work.CodePermissionDenied}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.result.Operation = "restore"
			w := fromSnapshot(result(tc.result))
			w = then(w, restore.Decide(w, now))
			require.Equal(t, kopiurv1.RestoreFailed, w.Restore.Status.Phase)
			w.Job, w.Outcome = nil, moverjob.Outcome{State: moverjob.Absent, Terminal: true}
			w.Credentials.Version = "2"
			p := restore.Decide(w, now.Add(48*time.Hour))
			assert.Equal(t, tc.opens, p.Job != nil)
			assert.Equal(t, !tc.opens, p.Keep)
			w.Restore.Generation = 2
			assert.NotNil(t, restore.Decide(w, now.Add(48*time.Hour)).Job, "an edit is a wish")
		})
	}
}

func TestLeftoversStandInTheWay(t *testing.T) {
	t.Parallel()
	w := fromSnapshot(outcome(moverjob.Outcome{State: moverjob.Wedged, Message: "ImagePullBackOff"}))
	w = then(w, restore.Decide(w, now))
	w.Restore.Generation = 2
	p := restore.Decide(w, now)
	assert.NotNil(t, p.Reap, "the pod must not come to life beside the next")
	assert.Nil(t, p.Job, "and the next waits until it is gone")

	w.Job, w.Outcome = nil, moverjob.Outcome{State: moverjob.Absent, Terminal: true}
	w.Strays = []string{"old-pod"}
	assert.Nil(t, restore.Decide(w, now).Job)
	w.Strays = nil
	assert.NotNil(t, restore.Decide(w, now).Job)
}

func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	w := fromSnapshot()
	first := restore.Decide(w, now)
	require.True(t, first.Intent)

	// The intent is stored, and neither claim nor Job are made.
	w.Restore.Status = first.Status
	second := restore.Decide(w, now.Add(time.Minute))
	require.NotNil(t, second.Job)
	assert.Equal(t, first.Job.Name, second.Job.Name, "the same attempt, never a second Job")
	assert.NotNil(t, second.Claim)
	assert.Equal(t, first.Status, second.Status)

	// The claim is made as well.
	w.Claim = first.Claim
	third := restore.Decide(w, now.Add(time.Minute))
	assert.Nil(t, third.Claim)
	assert.Equal(t, first.Job.Name, third.Job.Name)

	// The Job is made, its conditions were never stored.
	w.Job, w.Outcome = first.Job, moverjob.Outcome{State: moverjob.Running, PodName: "p"}
	fourth := restore.Decide(w, now.Add(time.Minute))
	assert.Nil(t, fourth.Job)
	assert.Equal(t, kopiurv1.ReasonMoverRunning, fourth.Reason)

	// A Job that somebody deleted is made again as the same attempt, also when the spec was edited.
	w.Job, w.Outcome = nil, moverjob.Outcome{State: moverjob.Absent, Terminal: true}
	w.Restore.Generation = 2
	assert.Equal(t, first.Job.Name, restore.Decide(w, now).Job.Name)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	w := fromSnapshot(outcome(moverjob.Outcome{State: moverjob.Running, PodName: "p"}))
	w.Job.Status.StartTime = &metav1.Time{Time: now.Add(-30 * time.Second)}
	assert.True(t, restore.ProgressDue(w, now))
	w.Tail = moverjob.Tail{Progress: &work.Progress{BytesProcessed: 5, FilesProcessed: 1, BytesTotal: 10, ETASeconds: 3}, ProgressAt: now}
	p := restore.Decide(w, now)
	assert.Equal(t, 5*time.Second, p.After)
	require.NotNil(t, p.Status.Progress)
	assert.Equal(t, int64(5), p.Status.Progress.BytesRestored)
	assert.Equal(t, int64(3), p.Status.Progress.ETASeconds)

	w.Restore.Status = p.Status
	assert.False(t, restore.ProgressDue(w, now.Add(4*time.Second)))
	assert.True(t, restore.ProgressDue(w, now.Add(5*time.Second)))
	assert.True(t, restore.ProgressDue(w, now.Add(-time.Hour)), "a mover whose clock is ahead is not left alone for an hour")
	w.Job.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
	assert.False(t, restore.ProgressDue(w, now.Add(29*time.Second)))
	w.Tail = moverjob.Tail{}
	p = restore.Decide(w, now.Add(29*time.Second))
	assert.Equal(t, w.Restore.Status.Progress, p.Status.Progress, "an unread log changes nothing")
	assert.Equal(t, 30*time.Second, p.After)
}

// TestOptionsAreMappedOneToOne fails when an option is added and forgotten.
func TestOptionsAreMappedOneToOne(t *testing.T) {
	t.Parallel()
	for _, value := range []bool{true, false} {
		in := kopiurv1.RestoreOptions{}
		v := reflect.ValueOf(&in).Elem()
		for _, f := range v.Fields() {
			if f.Type() == reflect.TypeFor[*bool]() {
				f.Set(reflect.ValueOf(new(value)))
			}
		}
		in.Parallel = new(int32(4))
		out := reflect.ValueOf(restore.Options(&in))
		require.Equal(t, v.NumField(), out.NumField())
		for field := range v.Fields() {
			if field.Name == "Parallel" {
				continue
			}
			got, ok := reflect.TypeAssert[*bool](out.FieldByName(field.Name))
			require.True(t, ok && got != nil, field.Name)
			assert.Equal(t, value, *got, field.Name)
		}
	}
	assert.Zero(t, restore.Options(nil), "unset stays unset (B-9)")
	assert.Zero(t, restore.Options(&kopiurv1.RestoreOptions{}))
}

func TestAnotherVersionsRecordsGetTheirConditions(t *testing.T) {
	t.Parallel()
	done := fromSnapshot(pinned("k1"), status(func(s *kopiurv1.RestoreStatus) { s.Phase = kopiurv1.RestoreCompleted }))
	p := restore.Decide(done, now)
	assert.False(t, p.Keep)
	assert.Equal(t, restore.Ready, p.State)
	assert.Equal(t, kopiurv1.ReasonRestoreSucceeded, p.Reason)
	assert.True(t, restore.Decide(then(done, p), now).Keep)

	bad := fromSnapshot(status(func(s *kopiurv1.RestoreStatus) {
		s.Phase, s.ObservedGeneration = kopiurv1.RestoreFailed, 1
		s.Failure, s.ResolvedCredentialVersion = &kopiurv1.Failure{Message: "it failed"}, "1"
	}))
	p = restore.Decide(bad, now)
	assert.Equal(t, restore.Stalled, p.State)
	assert.Equal(t, "it failed", p.Message)
}

// TestTotal: whatever is missing, there is a verdict, and it starts nothing.
func TestTotal(t *testing.T) {
	t.Parallel()
	empty := restore.World{Restore: &kopiurv1.Restore{}}
	assert.NotPanics(t, func() { restore.Decide(empty, time.Time{}) })
	for name, w := range map[string]restore.World{"from a policy": fromPolicy(found), "from a Snapshot": fromSnapshot(wrote(work.RestoreResult{}))} {
		v := reflect.ValueOf(&w).Elem()
		for i := range v.NumField() {
			f := v.Type().Field(i).Name
			if f == "Restore" {
				continue
			}
			broken := w
			reflect.ValueOf(&broken).Elem().Field(i).SetZero()
			assert.NotPanics(t, func() { restore.Decide(broken, now) }, "%s without %s", name, f)
		}
	}
}
