// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// B-1, B-2, J-1: TestPopulator backs two volumes up, deletes them, and makes their claims again with one Restore as the data
// source of both, one of a class that binds at once and one of a class that waits for a consumer. The pod that uses them
// finds every byte, mode, owner, time and link target of each in its own claim.
func TestPopulator(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.FilesystemRepository(t, ns)
	classes := []string{framework.ClassImmediate, framework.ClassWFFC}
	claims, seeds := []string{"data", "logs"}, []string{"11", "12"}
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "logs"}})
	p.Spec.GroupBy = kopiurv1.GroupByNone
	p.Spec.Mover = framework.PrivilegedMover()
	p.Spec.Mover.TTLSecondsAfterFinished = new(int32(0)) // a claim goes when the last pod that has had it is gone
	e.Create(t, p)
	for i, claim := range claims {
		s := framework.Snapshot(ns, claim, "app")
		s.Spec.Source = &kopiurv1.SnapshotSource{SourceIndex: int32(i), Target: &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: claim, Namespace: ns}}}
		e.Create(t, framework.PVC(ns, claim, classes[i], "1Gi"))
		e.RunApp(t, ns, claim, framework.AppOptions{}, "fill", "--seed", seeds[i], "--files", "150", "--sparse", "1048576", "/data")
		e.Create(t, s)
		e.WaitReady(t, s)
	}
	before := e.Lists(t, ns, claims...)
	require.NotEqual(t, before["data"], before["logs"], "the two are told apart by what is in them")
	for i, claim := range claims {
		pvc := framework.PVC(ns, claim, classes[i], "1Gi")
		require.NoError(t, e.Client.Delete(t.Context(), pvc))
		e.WaitGone(t, pvc)
	}

	r := framework.RestoreInto(ns, "fill", "", "")
	r.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app"}}
	r.Spec.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
	r.Spec.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingFail}
	r.Spec.Mover = framework.PrivilegedMover()
	e.Create(t, r)
	for i, claim := range claims {
		e.Create(t, framework.FilledBy(framework.PVC(ns, claim, classes[i], "1Gi"), r.Name))
	}
	app := user(t, e, ns, claims)
	e.WaitReady(t, r)
	assert.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	reached(t, e, app, corev1.PodRunning)
	after := e.Lists(t, ns, claims...)
	for _, claim := range claims {
		assert.Equal(t, before[claim], after[claim], "every byte, mode, owner, time and link target of %s", claim)
	}
	e.Eventually(t, "the helper claims to be gone", func(ctx context.Context) string {
		var left corev1.PersistentVolumeClaimList
		if err := e.Client.List(ctx, &left, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelOperation: kopiurv1.OperationRestorePopulate}); err != nil {
			return err.Error()
		}
		if len(left.Items) > 0 {
			return left.Items[0].Name + " is still there"
		}
		return ""
	})
	for _, claim := range claims {
		assert.Equal(t, kopiurv1.ClaimPopulated, r.Status.Claims[claim].Phase, claim)
		assert.Equal(t, corev1.PersistentVolumeReclaimDelete, e.Volume(t, ns, claim).Spec.PersistentVolumeReclaimPolicy, "as the class of %s says", claim)
	}
}

// user makes an application that uses claims, for as long as the test runs.
func user(t *testing.T, e *framework.Env, ns string, claims []string) *corev1.Pod {
	t.Helper()
	p := script(ns, "app", claims[0], false, "exec sleep 3600")
	p.Spec.Containers[0].Image = e.Image("testapp")
	for _, claim := range claims[1:] {
		v := p.Spec.Volumes[0].DeepCopy()
		v.Name, v.PersistentVolumeClaim.ClaimName = claim, claim
		p.Spec.Volumes = append(p.Spec.Volumes, *v)
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
	}
	e.Create(t, p)
	return p
}
