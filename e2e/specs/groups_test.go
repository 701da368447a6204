// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// TestClaimsAreCutAtOneInstant: a pod counts in two volumes at a time, a schedule backs up both, and what is restored of
// them is of one instant. Nothing of the cut stays behind.
func TestClaimsAreCutAtOneInstant(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	repository := e.FilesystemRepository(t, ns)
	e.Create(t,
		framework.PVC(ns, "data", framework.ClassImmediate, "16Mi"), framework.PVC(ns, "wal", framework.ClassImmediate, "16Mi"),
		counter(e, ns))
	e.Eventually(t, "the pod to count", func(ctx context.Context) string {
		var pod corev1.Pod
		if err := e.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "counter"}, &pod); err != nil {
			return err.Error()
		}
		if pod.Status.Phase == corev1.PodRunning {
			return ""
		}
		return string(pod.Status.Phase)
	})

	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: repository.Name}
	p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "wal"}})
	p.Spec.GroupBy = kopiurv1.GroupByVolumeGroupSnapshot
	p.Spec.Mover = framework.PrivilegedMover()
	schedule := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "once"}}
	schedule.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: p.Name}
	schedule.Spec.Schedule = kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: "0 0 1 1 *"}, RunOnCreate: true}
	e.Create(t, p, schedule)
	var run kopiurv1.SnapshotList
	e.Eventually(t, "the schedule to make a Snapshot of each claim", func(ctx context.Context) string {
		if err := e.Client.List(ctx, &run, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		if len(run.Items) != 2 {
			return fmt.Sprintf("%d are there", len(run.Items))
		}
		return ""
	})
	numbers := map[string]int{}
	for i := range run.Items {
		s := &run.Items[i]
		e.WaitReady(t, s)
		e.WaitStagedGone(t, s)
		claim := strings.TrimPrefix(s.Status.Snapshot.Identity.SourcePath, "/pvc/")
		back := framework.PVC(ns, claim+"-back", framework.ClassImmediate, "16Mi")
		restore := framework.RestoreInto(ns, claim+"-back", s.Name, back.Name)
		restore.Spec.Mover = framework.PrivilegedMover()
		e.Create(t, back, restore)
		e.WaitReady(t, restore)
		n, err := strconv.Atoi(strings.TrimSpace(e.RunApp(t, ns, back.Name, framework.AppOptions{}, "cat", "/data/count")))
		require.NoError(t, err)
		numbers[claim] = n
	}
	require.Len(t, numbers, 2)
	assert.Positive(t, numbers["wal"])
	assert.Contains(t, []int{0, 1}, numbers["data"]-numbers["wal"], "at any instant both are equal, or the first is one ahead: %v", numbers)

	e.Eventually(t, "nothing of the cut to be left", func(ctx context.Context) string {
		for _, list := range leftovers() {
			if err := e.Client.List(ctx, list, client.InNamespace(ns)); err != nil {
				return err.Error()
			}
			if n := len(list.Items); n > 0 {
				return fmt.Sprintf("%d of %s", n, list.GetKind())
			}
		}
		var claims corev1.PersistentVolumeClaimList
		if err := e.Client.List(ctx, &claims, client.InNamespace(ns), client.HasLabels{kopiurv1.LabelGroup}); err != nil {
			return err.Error()
		}
		if n := len(claims.Items); n > 0 {
			return fmt.Sprintf("%d claims have the label", n)
		}
		return ""
	})
}

func leftovers() []*unstructured.UnstructuredList {
	var out []*unstructured.UnstructuredList
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "groupsnapshot.storage.k8s.io", Version: "v1", Kind: "VolumeGroupSnapshotList"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotList"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		out = append(out, list)
	}
	return out
}

// counter is a pod that counts in two claims in lock-step.
func counter(e *framework.Env, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "counter"}}
	c := corev1.Container{
		Name: "app", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"lockstep", "/data/count", "/wal/count"},
		SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))},
	}
	for _, claim := range []string{"data", "wal"} {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod
}
