// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// K-7: a claim that has no room for its snapshot is named, with what helps; it stays, with all that is in it; nothing is
// tried again by itself, and the same snapshot is restored once there is room.
func TestATargetThatIsFullK7(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target  func(*kopiurv1.RestoreSpec)
		claim   string
		says    string
		correct func(*world, *kopiurv1.RestoreSpec)
		filled  string
	}{
		"of the user": {
			into("data"), "data", "claim data has no room for snapshot kfound; what was written so far is left in it, and nothing was deleted to make room: make the claim larger or free space in it",
			func(w *world, s *kopiurv1.RestoreSpec) { s.Options = &kopiurv1.RestoreOptions{SkipExisting: new(true)} }, "data",
		},
		"that the Restore has made": {
			func(*kopiurv1.RestoreSpec) {}, "data-new", "claim data-new is too small for snapshot kfound; what was written so far is left in it: make the claim larger and raise target.pvc.capacity, or name another claim there",
			func(w *world, s *kopiurv1.RestoreSpec) { s.Target.PVC.Name, s.Target.PVC.Capacity = "larger", "2Gi" }, "larger",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.on("restore", func(p *testenv.Play) {
				p.Result.Code, p.Result.Message = work.CodeNoSpace, work.TargetFull
				p.Result.Restore = &work.RestoreResult{SnapshotID: "kfound", FilesRestored: 2, BytesRestored: 1 << 20}
			})
			w.begin()
			if name == "of the user" {
				w.claim(tc.claim)
			}
			r := w.restore(fromPolicy, tc.target, func(s *kopiurv1.RestoreSpec) { s.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(1))} })
			w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
			assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
			assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, tc.says)
			assert.Equal(t, string(work.CodeNoSpace), r.Status.Failure.KopiaErrorClass)
			assert.Equal(t, int64(2), r.Status.Progress.FilesRestored, "how far it came")
			w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
			assert.Len(t, w.CallsOf("restore"), 2, "as often as failurePolicy says")
			w.rests(r)
			assert.Len(t, w.CallsOf("restore"), 2, "and no more by itself")
			var pvc corev1.PersistentVolumeClaim
			require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: tc.claim}, &pvc))
			assert.Nil(t, pvc.DeletionTimestamp)
			uid := pvc.UID

			w.Mover(testenv.Succeed)
			w.update(r, func() { tc.correct(w, &r.Spec) })
			w.untilReady(r)
			assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "into claim "+tc.filled)
			assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID)
			assert.Len(t, w.CallsOf("resolve"), 1, "it was decided before which one")
			require.NoError(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(&pvc), &pvc))
			assert.Equal(t, uid, pvc.UID, "nobody deleted the claim that was too small")
			if tc.filled != tc.claim {
				require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: tc.filled}, &pvc))
				assert.Equal(t, resource.MustParse("2Gi"), pvc.Spec.Resources.Requests[corev1.ResourceStorage])
			}
		})
	}
}
