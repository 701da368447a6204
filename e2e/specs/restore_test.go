// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// K-7: TestATargetThatIsFull restores more than a volume has room for: into a claim of the user, in which the file
// that would have been replaced stays as it is, and into one that a Restore is to fill, which gets no volume until it was made again large enough. Both are told why.
func TestATargetThatIsFull(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.PVC(ns, "tight", framework.ClassLimited, "8Mi"))
	reach(t, e, script(ns, "fill", "data", false, "head -c 16777216 /dev/urandom >/data/large; echo x >/data/small"), corev1.PodSucceeded)
	e.RunApp(t, ns, "tight", framework.AppOptions{}, "write", "/data/large", "mine")
	before := framework.Contents(e.List(t, ns, "data"))
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), s)
	e.WaitReady(t, s)

	once := &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
	into := framework.RestoreInto(ns, "into", "one", "tight")
	fill := framework.RestoreInto(ns, "fill", "one", "")
	fill.Spec.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
	into.Spec.FailurePolicy, fill.Spec.FailurePolicy = once, once
	claim := framework.FilledBy(framework.PVC(ns, "fresh", framework.ClassLimited, "8Mi"), fill.Name)
	e.Create(t, into, fill, claim)
	for r, says := range map[*kopiurv1.Restore]string{
		into: "claim tight has no room for snapshot " + s.Status.Snapshot.KopiaSnapshotID,
		fill: "claim fresh is too small for snapshot " + s.Status.Snapshot.KopiaSnapshotID,
	} {
		e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
		assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
		assert.Equal(t, string(work.CodeNoSpace), r.Status.Failure.KopiaErrorClass)
		assert.Contains(t, framework.Condition(r, kopiurv1.ConditionReady).Message, says)
		e.WaitEvent(t, r, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	}
	e.WaitEvent(t, claim, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	assert.Equal(t, corev1.ClaimPending, claim.Status.Phase)
	assert.Empty(t, claim.Spec.VolumeName, "not half full")
	assert.Equal(t, "mine", e.RunApp(t, ns, "tight", framework.AppOptions{}, "cat", "/data/large"), "what does not fit takes no file's place")

	part := framework.RestoreInto(ns, "part", "one", "tight")
	part.Spec.SubPath = "small"
	e.Create(t, part)
	e.WaitReady(t, part)
	assert.Equal(t, "x\n", e.RunApp(t, ns, "tight", framework.AppOptions{}, "cat", "/data/small"), "for one file of it there is room")

	require.NoError(t, e.Client.Delete(t.Context(), claim))
	e.WaitGone(t, claim)
	e.Create(t, framework.FilledBy(framework.PVC(ns, "fresh", framework.ClassLimited, "32Mi"), fill.Name))
	e.WaitReady(t, fill)
	assert.Equal(t, kopiurv1.RestoreCompleted, fill.Status.Phase)
	assert.Equal(t, before, framework.Contents(e.List(t, ns, "fresh")))
}
