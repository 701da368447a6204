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
)

func TestSnapshotIntoANewClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.StartController()
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

	calls := w.movers("restore")
	require.Len(t, calls, 1)
	op := calls[0].Spec.Operation.Restore
	assert.Equal(t, "k1", op.SnapshotID)
	assert.Equal(t, work.TargetDir, op.TargetPath)
	assert.Equal(t, "/pvc/data", op.Identity.Path, "found again by identity and start where its id changed (K-3)")
	assert.Equal(t, time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC), op.StartTime.UTC())
	assert.Equal(t, work.RestoreOptions{SkipTimes: new(false), Parallel: 3}, op.Options, "what is unset stays unset (B-9)")
	assert.Empty(t, w.movers("resolve"), "a Snapshot that is named needs no mover to be found")

	var pvc corev1.PersistentVolumeClaim
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "data-new"}, &pvc))
	assert.Empty(t, pvc.OwnerReferences, "the claim is the user's: it does not go with the Restore")
	assert.Equal(t, string(r.UID), pvc.Labels[kopiurv1.LabelOwnerUID])
	assert.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, pvc.Spec.AccessModes)
	w.rests(r)
	assert.Len(t, w.movers("restore"), 1, "one-shot")
}
