// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

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

func TestSnapshotIntoANewClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(func(s *kopiurv1.RestoreSpec) {
		s.Options = &kopiurv1.RestoreOptions{SkipTimes: new(false), Parallel: new(int32(3))}
	})
	w.untilReady(r)

	assert.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	assert.Equal(t, r.Generation, r.Status.ObservedGeneration)
	assert.Equal(t, "snapshotRef", r.Status.SourceKind)
	require.NotNil(t, r.Status.Resolved)
	assert.Equal(t, kopiurv1.ResolutionSnapshot, r.Status.Resolved.Resolution)
	assert.Equal(t, "k1", r.Status.Resolved.KopiaSnapshotID)
	assert.Equal(t, int64(4096), r.Status.Progress.BytesRestored)
	assert.Equal(t, int64(3), r.Status.Progress.FilesRestored)
	assert.Equal(t, int64(2), r.Status.Timing.DurationSeconds)
	assert.Equal(t, &kopiurv1.OwnershipStatus{Applied: 4}, r.Status.Ownership)
	assert.Equal(t, "data-new", r.Status.Target.PVCRef.Name)
	assert.NotEmpty(t, r.Status.ResolvedCredentialVersion)
	for kind, reason := range map[string]string{
		kopiurv1.ConditionReferentAvailable:    kopiurv1.ReasonReferentFound,
		kopiurv1.ConditionCredentialsAvailable: kopiurv1.ReasonCredentialsFound,
		kopiurv1.ConditionResolved:             kopiurv1.ReasonResolved,
		kopiurv1.ConditionTargetAvailable:      kopiurv1.ReasonTargetCreated,
		kopiurv1.ConditionMoverPermitted:       kopiurv1.ReasonPermitted,
		kopiurv1.ConditionOwnershipApplied:     kopiurv1.ReasonOwnershipApplied,
	} {
		c := conditionOf(r, kind)
		assert.Equal(t, metav1.ConditionTrue, c.Status, kind)
		assert.Equal(t, reason, c.Reason, kind)
	}

	calls := w.CallsOf("restore")
	require.Len(t, calls, 1)
	op := calls[0].Spec.Operation.Restore
	assert.Equal(t, "k1", op.SnapshotID)
	assert.Equal(t, work.TargetDir, op.TargetPath)
	assert.Equal(t, "/pvc/data", op.Identity.Path, "found again by identity and start where its id changed (K-3)")
	assert.Equal(t, time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC), op.StartTime.UTC())
	assert.Equal(t, work.RestoreOptions{SkipTimes: new(false), Parallel: 3}, op.Options, "what is unset stays unset (B-9)")
	assert.Empty(t, w.CallsOf("resolve"), "a Snapshot that is named needs no mover to be found")

	var pvc corev1.PersistentVolumeClaim
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "data-new"}, &pvc))
	assert.Empty(t, pvc.OwnerReferences, "the claim is the user's: it does not go with the Restore")
	assert.Equal(t, string(r.UID), pvc.Labels[kopiurv1.LabelOwnerUID])
	assert.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, pvc.Spec.AccessModes)
	w.rests(r)
	assert.Len(t, w.CallsOf("restore"), 1, "one-shot")
}

func TestFromPolicyFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) {
		s.Source.FromPolicy.AsOf, s.Source.FromPolicy.Offset = "2026-03-05T09:00:00Z", 1
	})
	w.untilReady(r)

	require.NotNil(t, r.Status.Resolved)
	assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID)
	assert.Equal(t, "/pvc/data", r.Status.Resolved.Identity.SourcePath)
	assert.Equal(t, "nas", r.Status.Resolved.Repository.Name)
	assert.NotEmpty(t, r.Status.Resolved.PinnedAt)
	asked, wrote := w.CallsOf("resolve"), w.CallsOf("restore")
	require.Len(t, asked, 1)
	require.Len(t, wrote, 1)
	q := asked[0].Spec.Operation.Resolve
	assert.Equal(t, work.Identity{Username: "db", Hostname: w.Namespace, Path: "/pvc/data"}, q.Identity)
	assert.Equal(t, int64(1), q.Offset)
	assert.Equal(t, time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC), q.AsOf.UTC())
	assert.Equal(t, "kfound", wrote[0].Spec.Operation.Restore.SnapshotID, "a restore mover is told the id, it never resolves (B-7)")
	assert.NotEqual(t, asked[0].Job, wrote[0].Job)
	w.rests(r)
}

func TestFromPolicyAbsentContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer(func(c testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.restore(fromPolicy)
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshotContinue)

	assert.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	assert.Equal(t, kopiurv1.ResolutionNoSnapshot, r.Status.Resolved.Resolution)
	var pvc corev1.PersistentVolumeClaim
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "data-new"}, &pvc), "the empty volume is there (B-4)")
	assert.Empty(t, w.CallsOf("restore"))

	// A snapshot that appears later changes nothing.
	w.answer(func(c testenv.Call) work.Resolution { return work.ResolutionFound })
	w.update(r, func() { r.Spec.Source.FromPolicy.Offset = 1 })
	w.setStatus(w.Policy, func() { w.Policy.Status.LastSuccessfulSnapshot = "2030-01-01T00:00:00Z" })
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshotContinue)
	w.rests(r)
	assert.Equal(t, kopiurv1.ResolutionNoSnapshot, r.Status.Resolved.Resolution)
	assert.Len(t, w.CallsOf("resolve"), 1)
	assert.Empty(t, w.CallsOf("restore"))
}

// K-1: which of a policy's claims were backed up is in its Snapshots, and a repository that lacks one of them is not the one
// it was.
func TestAnAbsenceThatASnapshotContradictsK1(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer(func(c testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.update(w.Policy, func() {
		w.Policy.Spec.Sources = append(w.Policy.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "more"}})
	})
	stored := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "tuesday"}}
	stored.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "db"}
	w.Create(stored)
	w.setStatus(stored, func() { stored.Status = *w.Snapshot.Status.DeepCopy() })
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy.SourcePath = "/pvc/data" })
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshot)
	assert.Contains(t, r.Status.Failure.Message, w.Namespace+"/tuesday")
	w.noClaim("data-new")
}

func TestFromPolicyAbsentFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer(func(c testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) {
		s.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingFail}
	})
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshot)

	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	assert.Nil(t, r.Status.Resolved)
	assert.Equal(t, "NotFound", r.Status.Failure.KopiaErrorClass)
	w.noClaim("data-new")
	w.rests(r)
}

// TestUnknownThenReachable is K-1: while the store does not answer nothing is written, and nothing is decided.
func TestUnknownThenReachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Resolve != nil {
			return testenv.Fail(c, work.CodeRepositoryUnavailable, "the store did not answer")
		}
		return testenv.Succeed(c)
	})
	w.begin()
	r := w.restore(fromPolicy)
	w.until(r, kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown)

	assert.Equal(t, kopiurv1.RestoreResolving, r.Status.Phase)
	assert.Equal(t, "RepositoryUnavailable", r.Status.Failure.KopiaErrorClass)
	assert.Nil(t, r.Status.Resolved)
	assert.Equal(t, metav1.ConditionTrue, conditionOf(r, kopiurv1.ConditionReconciling).Status)
	w.noClaim("data-new")
	w.settles(r) // its Repository was told, and tells it back

	// The repository's own reconciler reaches the store: it is asked again at once, not after the rest of 30 s.
	w.Mover(testenv.Succeed)
	w.update(w.Repository, func() {
		// Later than what the Restore itself asked for maybe in this very second: the same value would wake nobody.
		w.Repository.Annotations = map[string]string{kopiurv1.AnnotationReverifyRequestedAt: time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)}
	})
	w.untilReady(r)
	assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID)
	assert.Nil(t, r.Status.Failure)
}

func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clk := &shifted{}
	w.SetClock(clk)
	w.answer(func(c testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) {
		s.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingFail, WaitTimeout: "10m"}
		// The pods' times are real, the controller's clock runs ahead of them.
		s.FailurePolicy = &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(86400))}
	})
	w.until(r, kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSnapshot)
	assert.NotEmpty(t, r.Status.WaitStartedAt)
	assert.Equal(t, metav1.ConditionTrue, conditionOf(r, kopiurv1.ConditionReconciling).Status)

	clk.add(5 * time.Minute)
	w.touch(r)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, w.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		assert.EqualValues(c, 2, r.Status.Job.Attempts)
		assert.NotEmpty(c, r.Status.Job.EndedAt)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, kopiurv1.ReasonWaitingForSnapshot, conditionOf(r, kopiurv1.ConditionResolved).Reason)

	clk.add(6 * time.Minute)
	w.touch(r)
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshot)
	assert.Len(t, w.CallsOf("resolve"), 3, "the last word is an answer given after the window")
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
}

func TestReferentsAreWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(func(s *kopiurv1.RestoreSpec) { s.Source.SnapshotRef.Name = "tuesday" })
	w.until(r, kopiurv1.ConditionReferentAvailable, metav1.ConditionFalse, kopiurv1.ReasonRestoreReferentMissing)
	w.rests(r)

	// Only watches can wake it: its own rest is an hour.
	hold := make(chan struct{})
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Snapshot != nil {
			p.Hold = hold
		}
		return p
	})
	w.claim("data")
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "tuesday"}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "db"}}}
	w.Create(s)
	w.until(r, kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSnapshot)
	assert.Empty(t, w.CallsOf("restore"))
	close(hold)
	w.untilReady(r)
	op := w.CallsOf("restore")[0].Spec.Operation.Restore
	assert.Equal(t, "k"+string(s.UID), op.SnapshotID)
	w.Get(s)
	assert.Equal(t, s.Status.Timing.StartTime, op.StartTime.UTC().Format(time.RFC3339), "what the Snapshot recorded finds it again")
	assert.Equal(t, "/pvc/data", op.Identity.Path)
}

func TestMalformedAsOfHealsByAnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy.AsOf = "yesterday" })
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSpec)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	assert.Empty(t, w.CallsOf("resolve"))
	w.noClaim("data-new")
	w.rests(r)
	w.update(r, func() { r.Spec.Source.FromPolicy.AsOf = "2026-03-05T09:00:00Z" })
	w.untilReady(r)
}
