// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// The kill tests are not parallel: they stop the controller that all others use.

// slowRepository throttles uploads, so that a mover can be caught in the middle of one.
func slowRepository(t *testing.T, e *framework.Env, ns string) {
	t.Helper()
	r := framework.Repository(ns, "repo", framework.OnClaim("repo"))
	r.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Throttle: &kopiurv1.Throttle{UploadBytesPerSecond: 2 << 20}}
	e.Create(t, framework.PVC(ns, "repo", framework.ClassImmediate, "2Gi"), framework.PasswordSecret(ns, "password", framework.Password), r)
	e.WaitReady(t, r)
}

// moverPod waits for the mover of a Snapshot or Restore to reach a phase.
func moverPod(t *testing.T, e *framework.Env, s client.Object, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	e.Eventually(t, fmt.Sprintf("a %s mover", phase), func(ctx context.Context) string {
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(s.GetNamespace()), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.GetUID())}); err != nil {
			return err.Error()
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == phase && p.DeletionTimestamp == nil {
				found = p
				return ""
			}
		}
		return fmt.Sprintf("%d pods", len(pods.Items))
	})
	return found
}

// TestMoverKilledInMidUpload: SIGKILL while it uploads; the Job's retry stores one snapshot (C-14, D5).
func TestMoverKilledInMidUpload(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "11", "--files", "1200", "--sparse", "0", "/data")
	slowRepository(t, e, ns)
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)

	e.Eventually(t, "progress", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		if s.Status.Progress == nil || s.Status.Progress.BytesProcessed == 0 {
			return "none yet, phase " + string(s.Status.Phase)
		}
		return ""
	})
	pod := moverPod(t, e, s, corev1.PodRunning)
	require.NoError(t, e.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))

	e.WaitReady(t, s)
	assert.GreaterOrEqual(t, s.Status.Job.Attempts, int32(1))
	stored(t, e, ns, "app", 1)
}

func controller() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kopiur-system", Name: "kopiur-controller"}}
}

// controllerDeployment scales the controller and waits until its pods are there or gone.
func controllerDeployment(t *testing.T, e *framework.Env, replicas int32) {
	t.Helper()
	d := controller()
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	require.NoError(t, e.Client.Patch(t.Context(), d, patch))
	e.Eventually(t, fmt.Sprintf("%d controllers", replicas), func(ctx context.Context) string {
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
			return err.Error()
		}
		if len(pods.Items) != int(replicas) {
			return fmt.Sprintf("%d pods", len(pods.Items))
		}
		return ""
	})
}

// TestResultLostWithItsPod: the mover's pod is deleted while no controller runs to read its result. The next attempt
// finds the stored snapshot by its request tag instead of storing a second one (D5).
func TestResultLostWithItsPod(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "12", "--files", "600", "--sparse", "0", "/data")
	slowRepository(t, e, ns)
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	moverPod(t, e, s, corev1.PodRunning)
	killController(t, e)
	pod := moverPod(t, e, s, corev1.PodSucceeded)
	require.NoError(t, e.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	e.Eventually(t, "the pod to go", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Sprint("still there: ", err)
		}
		return ""
	})
	controllerDeployment(t, e, 1)

	e.WaitReady(t, s)
	assert.NotEmpty(t, s.Status.Snapshot.KopiaSnapshotID)
	stored(t, e, ns, "app", 1)
}

// TestControllerKilledAllAlong kills the controller again and again while a backup and a restore go on. Both converge,
// and nothing is made twice.
func TestControllerKilledAllAlong(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "13", "--files", "200", "/data")
	before := e.List(t, ns, "data")
	e.FilesystemRepository(t, ns)

	ctx, stop := context.WithCancel(t.Context())
	killed := make(chan int, 1)
	go func() { killed <- killControllers(ctx, e) }()
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	e.WaitReady(t, s)
	r := framework.RestoreInto(ns, "one", "one", "data")
	r.Spec.Mover = framework.PrivilegedMover()
	e.Create(t, r)
	e.WaitReady(t, r)
	stop()
	assert.Positive(t, <-killed, "the controller was killed at least once")

	assert.Equal(t, before, e.List(t, ns, "data"))
	e.WaitStagedGone(t, s)
	var jobs batchv1.JobList
	require.NoError(t, e.Client.List(t.Context(), &jobs, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.UID)}))
	assert.Len(t, jobs.Items, 1, "one Job of one Snapshot")
	stored(t, e, ns, "app", 1)
}

// killControllers kills every controller a moment after it took the lead, until ctx ends. One that does not lead yet has
// done nothing that could be cut short.
func killControllers(ctx context.Context, e *framework.Env) int {
	n := 0
	for framework.Pause(ctx) {
		var leases coordinationv1.LeaseList
		if err := e.Client.List(ctx, &leases, client.InNamespace("kopiur-system")); err != nil {
			continue
		}
		for i := range leases.Items {
			holder := leases.Items[i].Spec.HolderIdentity
			if holder == nil || *holder == "" {
				continue
			}
			p := &corev1.Pod{}
			p.Namespace, p.Name = "kopiur-system", *holder
			if e.Client.Delete(ctx, p, client.GracePeriodSeconds(0)) == nil {
				n++
			}
		}
	}
	return n
}
