// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// cacheClaim of the lab's policy.
const cacheClaim = "kopiur-cache-web"

// keepsCache makes the policy's backups keep their cache.
func (l *lab) keepsCache() {
	l.policy.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi", StorageClassName: "fast"}}
}

// backup makes a Snapshot and waits until its mover was started. It returns the claim that the mover's cache is in, ""
// where that goes with the pod.
func (l *lab) backup(name string) (s *kopiurv1.Snapshot, claim string) {
	l.t.Helper()
	s = l.snapshot.DeepCopy()
	s.Name, s.ResourceVersion, s.UID = name, "", ""
	l.Create(s)
	var job batchv1.Job
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, s)
		require.NotNil(c, s.Status.Job, "%+v", s.Status.Conditions)
		job.Name, job.Namespace = s.Status.Job.Name, l.Namespace
		l.GetC(c, &job)
	}, testenv.Wait, testenv.Tick)
	return s, mountedCache(l.t, job.Spec.Template.Spec)
}

// finds reports whether backups find the claim again. The controller learns by watches that it is free, or gone: a backup
// that is too early does without.
func (l *lab) finds(name string) bool {
	l.t.Helper()
	for n := range 20 {
		s, at := l.backup(fmt.Sprintf("%s-%d", name, n))
		l.done(s)
		if at == cacheClaim {
			return true
		}
	}
	return false
}

func (l *lab) done(s *kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, s)
		assert.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase)
		var job batchv1.Job
		job.Name, job.Namespace = s.Status.Job.Name, l.Namespace
		l.GetC(c, &job)
		assert.NotNil(c, job.Spec.TTLSecondsAfterFinished, "the controller has seen the end of its Job")
	}, testenv.Wait, testenv.Tick)
}

func mountedCache(t *testing.T, pod corev1.PodSpec) string {
	t.Helper()
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if m.MountPath != work.CacheDir || v.Name != m.Name {
				continue
			}
			if v.PersistentVolumeClaim == nil {
				return ""
			}
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	require.Fail(t, "there is no volume for the cache")
	return ""
}

// TestTheCacheIsKept (acceptance C-3, G-1): one claim for the backups of a policy, for one mover at a time; who comes
// meanwhile does not wait. Another size replaces it.
func TestTheCacheIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.keepsCache()
	hold := make(chan struct{})
	var once sync.Once
	release := func() { once.Do(func() { close(hold) }) }
	t.Cleanup(release)
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		p := testenv.Succeed(c)
		if n == 1 {
			p.Hold = hold
		}
		return p
	})
	l.base()
	l.Create(l.source)
	l.StartController()
	l.ready()

	first, at := l.backup("first")
	assert.Equal(t, cacheClaim, at)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: cacheClaim}}
	l.Get(claim)
	assert.Equal(t, "8Gi", claim.Spec.Resources.Requests.Storage().String())
	assert.Equal(t, "fast", *claim.Spec.StorageClassName)
	require.NotNil(t, metav1.GetControllerOf(claim), "it goes with the policy")
	assert.Equal(t, l.policy.UID, metav1.GetControllerOf(claim).UID)

	beside, at := l.backup("beside")
	assert.Empty(t, at, "the claim is in use: this one does not wait for it")
	l.done(beside)
	release()
	l.done(first)
	assert.True(t, l.finds("after"), "what the first one fetched is there for the next")
	for _, c := range l.runs() {
		assert.Equal(t, int64(8<<30), c.Spec.Repository.Cache.CapacityBytes, "kopia's limits follow the volume")
	}

	l.Change(l.policy, func() { l.policy.Spec.Mover.Cache.Capacity = "16Gi" })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Equal(c, l.policy.Generation, l.policy.Status.ObservedGeneration, "the controller knows of it")
	}, testenv.Wait, testenv.Tick)
	was := claim.UID
	var at16 string
	for n := 0; n < 20 && at16 == ""; n++ {
		var next *kopiurv1.Snapshot
		next, at16 = l.backup(fmt.Sprintf("larger-%d", n))
		l.done(next)
		l.let(claim)
	}
	assert.Equal(t, cacheClaim, at16)
	l.Get(claim)
	assert.NotEqual(t, was, claim.UID, "the smaller one was removed, and not used meanwhile")
	assert.Equal(t, "16Gi", claim.Spec.Resources.Requests.Storage().String())
}

// let lets a claim go that is being deleted: nothing here takes away what protects one in use.
func (l *lab) let(claim *corev1.PersistentVolumeClaim) {
	l.t.Helper()
	err := l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(claim), claim)
	if apierrors.IsNotFound(err) || err == nil && claim.DeletionTimestamp == nil {
		return
	}
	require.NoError(l.t, err)
	unprotected := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	require.NoError(l.t, client.IgnoreNotFound(l.Client.Patch(l.t.Context(), claim, unprotected)))
}

// told are the events about a Snapshot.
func (l *lab) told(s *kopiurv1.Snapshot) []string {
	l.t.Helper()
	c, err := client.New(l.Config, client.Options{Scheme: scheme.Scheme})
	require.NoError(l.t, err)
	var list eventsv1.EventList
	require.NoError(l.t, c.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	var out []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.UID == s.UID {
			out = append(out, e.Type+"/"+e.Reason)
		}
	}
	return out
}

// TestACacheClaimOfSomebodyElse: the name is taken. The data of whoever has it is not touched, the backup goes on, and
// kubectl describe says what is to be done.
func TestACacheClaimOfSomebodyElse(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.keepsCache()
	theirs := testenv.Claim(cacheClaim)
	l.Create(theirs)
	l.base()
	l.Create(l.source)
	l.StartController()
	l.ready()
	s, at := l.backup("one")
	assert.Empty(t, at)
	l.done(s)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, l.told(s), corev1.EventTypeWarning+"/"+kopiurv1.ReasonCacheClaimTaken)
	}, testenv.Wait, testenv.Tick)
	was := theirs.ResourceVersion
	l.Get(theirs)
	assert.Equal(t, was, theirs.ResourceVersion, "it was not touched")
}

// TestACacheOfAClass: without being kept it is a claim of the pod's own.
func TestACacheOfAClass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{StorageClassName: "fast"}}
	l.create()
	l.StartController()
	l.succeeds()
	var found bool
	for _, v := range l.jobs()[0].Spec.Template.Spec.Volumes {
		if e := v.Ephemeral; e != nil {
			found = true
			assert.Equal(t, "fast", *e.VolumeClaimTemplate.Spec.StorageClassName)
		}
	}
	assert.True(t, found, "the cache has a claim that goes with the pod")
}
