// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// G-1: TestTheCacheIsKept: the backups of a policy share a claim, the second mover finds in it what the first one has
// fetched, and the claim goes with the policy. Nothing else does.
func TestTheCacheIsKept(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "9", "--files", "200", "/data")
	before := e.List(t, ns, "data")
	e.FilesystemRepository(t, ns)
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Mover = framework.PrivilegedMover()
	p.Spec.Mover.Cache = &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "1Gi", StorageClassName: framework.ClassImmediate}
	e.Create(t, p)

	const name = "kopiur-cache-app"
	first, at := cachedBackup(t, e, ns, "first")
	require.Equal(t, name, at)
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept))
	require.NotNil(t, metav1.GetControllerOf(kept))
	assert.Equal(t, p.UID, metav1.GetControllerOf(kept).UID)
	fetched := files(e.List(t, ns, name))
	require.NotEmpty(t, fetched, "the first mover has left what it fetched")

	// A mover whose predecessor has only just gone does without: nobody waits for a cache.
	at = ""
	for n := 0; n < 5 && at == ""; n++ {
		_, at = cachedBackup(t, e, ns, fmt.Sprintf("again-%d", n))
	}
	require.Equal(t, name, at)
	uid := kept.UID
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept))
	assert.Equal(t, uid, kept.UID, "it was made once")
	now := files(e.List(t, ns, name))
	for path, sum := range fetched {
		assert.Equal(t, sum, now[path], "%s is still there, and is what it was", path)
	}

	require.NoError(t, e.Client.Delete(t.Context(), p))
	e.WaitGone(t, p)
	e.Eventually(t, "the claim to be on its way out", func(ctx context.Context) string {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(kept), kept)
		switch {
		case apierrors.IsNotFound(err) || err == nil && kept.DeletionTimestamp != nil:
			return ""
		case err != nil:
			return err.Error()
		default:
			return "it is not"
		}
	})
	// Movers that have ended are kept for a while, for who reads their logs, and hold the claims that they mount.
	require.NoError(t, e.Client.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace(ns), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	e.WaitGone(t, kept)
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(first), first))
	assert.Nil(t, first.DeletionTimestamp)
	assert.Equal(t, kopiurv1.SnapshotSucceeded, first.Status.Phase)
	assert.Equal(t, before, e.List(t, ns, "data"))
	r := framework.RestoreInto(ns, "back", first.Name, "")
	r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "restored", Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
	r.Spec.Mover = framework.PrivilegedMover()
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, before, e.List(t, ns, "restored"))
}

// cachedBackup makes a backup and says which claim its mover's cache was in, "" where that went with the pod.
func cachedBackup(t *testing.T, e *framework.Env, ns, name string) (s *kopiurv1.Snapshot, claim string) {
	t.Helper()
	s = framework.Snapshot(ns, name, "app")
	e.Create(t, s)
	e.WaitReady(t, s)
	movers := e.Jobs(t, ns, jobsOf(s))
	require.Len(t, movers, 1)
	pod := movers[0].Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if m.MountPath == work.CacheDir && v.Name == m.Name && v.PersistentVolumeClaim != nil {
				return s, v.PersistentVolumeClaim.ClaimName
			}
		}
	}
	return s, ""
}

// files are the checksums of what a cache holds of the repository: indexes and contents never change. The lists of blobs that
// lie beside them do.
func files(list []framework.Entry) map[string]string {
	out := map[string]string{}
	for _, entry := range list {
		if entry.Type == "file" && !strings.HasPrefix(entry.Path, "blob-list/") {
			out[entry.Path] = entry.SHA256
		}
	}
	return out
}
