// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestSnapshotCopy follows a copy through all its steps, slowly (A-1, A-2, A-3, A-5, A-6, K-2).
func TestSnapshotCopy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
	st.set(func() {
		st.ready, st.bind, st.retain = false, false, true
		st.failure = "rpc error: code = Aborted desc = 409 another operation is in progress"
		st.restoreSize = resource.MustParse("2Gi")
	})
	release := make(chan struct{})
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Snapshot != nil {
			p.Hold = release
		}
		return p
	})
	l.Create(l.snapshot)
	l.StartController()

	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVolumeSnapshot)
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Contains(c, condition(s, kopiurv1.ConditionSourceStaged).Message, "another operation is in progress")
		assert.Equal(c, kopiurv1.SnapshotPending, s.Status.Phase, "a driver's error before the deadline ends nothing")
	})
	var vs vsv1.VolumeSnapshot
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: "one-snap"}, &vs))
	assert.Equal(t, "data", *vs.Spec.Source.PersistentVolumeClaimName)
	assert.Equal(t, l.Namespace, *vs.Spec.VolumeSnapshotClassName)
	_, exists := l.staged()
	assert.False(t, exists, "nothing is restored from a snapshot that is not ready")

	st.set(func() { st.ready, st.failure = true, "" })
	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForStagedPVCBind)
	src, exists := l.staged()
	require.True(t, exists)
	assert.Equal(t, "VolumeSnapshot", src.Spec.DataSource.Kind)
	assert.Equal(t, "one-snap", src.Spec.DataSource.Name)
	assert.Equal(t, "2Gi", src.Spec.Resources.Requests.Storage().String(), "the driver wants its restore size")
	assert.True(t, metav1.IsControlledBy(src, l.snapshot))
	require.NoError(t, l.Client.Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: l.Namespace, Name: "provisioner"},
		InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: l.Namespace, Name: src.Name, UID: src.UID},
		Type:           corev1.EventTypeWarning, Reason: "ProvisioningFailed", Message: "pool is full",
	}))
	l.Label(src, "touched", "once")
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Contains(c, condition(s, kopiurv1.ConditionSourceStaged).Message, "ProvisioningFailed: pool is full")
	})
	assert.Empty(t, l.jobs(), "no Job before an Immediate claim is bound")

	st.set(func() { st.bind = true })
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
	})
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionSourceStaged).Status)
	require.NotNil(t, l.snapshot.Status.Staged)
	assert.True(t, l.snapshot.Status.Staged.Ready)
	jobs := l.jobs()
	require.Len(t, jobs, 1)
	var mounted []string
	for _, v := range jobs[0].Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			mounted = append(mounted, v.PersistentVolumeClaim.ClaimName)
			assert.True(t, v.PersistentVolumeClaim.ReadOnly)
		}
	}
	assert.Equal(t, []string{"one-src"}, mounted, "never the live claim")
	_, exists = l.staged()
	assert.True(t, exists, "the copy stays while the mover reads it")

	close(release)
	l.succeeds()
	l.nothingStaged()
	assert.Equal(t, []string{"PersistentVolumeClaim", "VolumeSnapshot"}, st.order(), "the claim goes before its snapshot")
	var content vsv1.VolumeSnapshotContent
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Name: "snapcontent-" + string(vs.UID)}, &content))
	assert.Equal(t, vsv1.VolumeSnapshotContentDelete, content.Spec.DeletionPolicy, "a class with Retain leaks nothing")
	var pv corev1.PersistentVolume
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Name: "pvc-" + string(src.UID)}, &pv))
	assert.Equal(t, corev1.PersistentVolumeReclaimDelete, pv.Spec.PersistentVolumeReclaimPolicy)
	l.Get(l.snapshot)
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionSourceStaged).Status, "what was passed is still told")
	l.atRest()
}

// TestWaitForFirstConsumer: the claim is bound only for the mover's pod, so the Job comes first.
func TestWaitForFirstConsumer(t *testing.T) {
	t.Parallel()
	for _, method := range []kopiurv1.CopyMethod{kopiurv1.CopySnapshot, kopiurv1.CopyClone} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.policy.Spec.CopyMethod = method
			l.base()
			st := l.withStorage(storagev1.VolumeBindingWaitForFirstConsumer)
			st.snapshotClass()
			st.set(func() { st.bind = false })
			release := make(chan struct{})
			l.Mover(func(c testenv.Call) testenv.Play {
				p := testenv.Succeed(c)
				if c.Spec.Operation.Snapshot != nil {
					p.Hold = release
				}
				return p
			})
			l.Create(l.snapshot)
			l.StartController()
			require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
			src, exists := l.staged()
			require.True(t, exists)
			assert.Empty(t, src.Spec.VolumeName)
			if method == kopiurv1.CopyClone {
				assert.Equal(t, "PersistentVolumeClaim", src.Spec.DataSource.Kind)
				assert.Equal(t, "data", src.Spec.DataSource.Name)
			}
			st.set(func() { st.bind = true })
			close(release)
			l.succeeds()
			l.nothingStaged()
		})
	}
}

func TestNoSnapshotClass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	l.Create(l.snapshot)
	l.StartController()
	c := l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonNoVolumeSnapshotClass)
	assert.Contains(t, c.Message, st.driver)
	assert.Contains(t, c.Message, "copyMethod: Direct")
	assert.Nil(t, l.snapshot.Status.Staged, "nothing was begun")

	// A class of the driver opens the gate; the label stands for the recheck after a minute.
	st.snapshotClass()
	l.Label(l.snapshot, "touched", "once")
	l.succeeds()
}

// TestARefusedCreateIsTriedAgain: a conflict or a server error on the way to the copy ends nothing.
func TestARefusedCreateIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"conflict":     apierrors.NewConflict(schema.GroupResource{Resource: "volumesnapshots"}, "one-snap", errors.New("another operation is in progress")),
		"server error": apierrors.NewInternalError(errors.New("webhook does not answer")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
			l.base()
			l.withStorage(storagev1.VolumeBindingImmediate).snapshotClass()
			var refused atomic.Int32
			l.WrapClient(func(c client.Client) client.Client {
				return interceptor.NewClient(watchless{c}, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
						if _, ok := obj.(*vsv1.VolumeSnapshot); ok && refused.Add(1) <= 2 {
							return refusal
						}
						return c.Create(ctx, obj, opts...)
					},
				})
			})
			l.Create(l.snapshot)
			l.StartController()
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, l.snapshot)
				assert.NotEqual(c, kopiurv1.SnapshotFailed, l.snapshot.Status.Phase)
				if !assert.GreaterOrEqual(c, refused.Load(), int32(3)) && refused.Load() > 0 {
					// Stands for the rest of 30 to 60 s after a server error.
					l.Touch(l.snapshot)
				}
			}, testenv.Wait, 4*testenv.Tick)
			l.succeeds()
		})
	}
}

// TestLongNames: the longest names that the API server takes, which no label's value may have.
func TestLongNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Name, l.snapshot.Name = strings.Repeat("a.bc", 15)+"d.e", strings.Repeat("x.yz", 63)
	l.snapshot.Spec.PolicyRef.Name = l.policy.Name
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	l.withStorage(storagev1.VolumeBindingImmediate).snapshotClass()
	l.Create(l.snapshot)
	l.StartController()
	l.succeeds()
	assert.Equal(t, kopiurv1.LabelValue(l.policy.Name), l.snapshot.Labels[kopiurv1.LabelPolicy])
	l.nothingStaged()
}

// TestPolicyTurnsToDirect: the copy that was begun goes before the live volume is read.
func TestPolicyTurnsToDirect(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
	st.set(func() { st.ready = false })
	l.Create(l.snapshot)
	l.StartController()
	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVolumeSnapshot)
	l.Change(l.policy, func() { l.policy.Spec.CopyMethod = kopiurv1.CopyDirect })
	l.succeeds()
	l.nothingStaged()
	assert.Empty(t, condition(l.snapshot, kopiurv1.ConditionSourceStaged).Type)
}

// TestPolicyTurnsToAnotherClaim: what was copied of one claim is never filed as the other's.
func TestPolicyTurnsToAnotherClaim(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
	st.set(func() { st.bind = false })
	other := claim("other")
	other.Spec.StorageClassName = new(st.class.Name)
	l.Create(other)
	st.bindClaim(t.Context(), other)
	l.Create(l.snapshot)
	l.StartController()
	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForStagedPVCBind)
	l.Change(l.policy, func() { l.policy.Spec.Sources[0].PVC.Name = "other" })
	st.set(func() { st.bind = true })
	l.succeeds()
	assert.Equal(t, "/pvc/other", l.snapshot.Status.Snapshot.Identity.SourcePath)
	assert.Equal(t, l.Namespace+"/other", l.snapshot.Status.Resolved.Sources[0].PVC)
	l.nothingStaged()
	assert.Len(t, st.seen(), 2, "the copy of the first claim was thrown away")
}

// TestStagingTimesOut fails in its own time, says what the driver said and leaves nothing behind.
func TestStagingTimesOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.policy.Spec.Staging = &kopiurv1.Staging{Timeout: "2s"}
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
	st.set(func() { st.ready, st.failure = false, "quota exceeded" })
	l.Create(l.snapshot)
	l.StartController()
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonStagingTimedOut)
	assert.Contains(t, c.Message, "quota exceeded")
	assert.Equal(t, kopiurv1.SnapshotFailed, l.snapshot.Status.Phase)
	assert.Empty(t, l.jobs())
	l.nothingStaged()

	// No mover has run: a changed Snapshot is tried again.
	st.set(func() { st.ready, st.failure = true, "" })
	l.Change(l.policy, func() { l.policy.Spec.Staging = nil })
	l.Change(l.snapshot, func() { l.snapshot.Spec.Description = "again" })
	l.succeeds()
	assert.Nil(t, l.snapshot.Status.Failure)
	l.nothingStaged()
}

// TestForeignClaimIsNotTouched: a claim of the derived name that somebody else made is neither read nor removed.
func TestForeignClaimIsNotTouched(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopyClone
	l.base()
	l.withStorage(storagev1.VolumeBindingImmediate)
	foreign := claim("one-src")
	l.Create(foreign, l.snapshot)
	l.StartController()
	c := l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonStagingNameTaken)
	assert.Contains(t, c.Message, "one-src")
	assert.Empty(t, l.jobs())
	require.NoError(t, l.Client.Delete(t.Context(), foreign))
	l.succeeds()
}
