// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// A claim without a file system: its copy has none either, and the mover gets the device.
func TestBlockClaim(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.policy.Spec.Sources[0].ReadOnly = new(false)
	l.source.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
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
	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionTrue, kopiurv1.ReasonSourceStaged)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	src, exists := l.staged()
	require.True(t, exists)
	assert.Equal(t, corev1.PersistentVolumeBlock, *src.Spec.VolumeMode)
	op := l.runs()[0].Spec.Operation.Snapshot
	assert.Empty(t, op.Path)
	assert.Equal(t, work.SourceDevice, op.DevicePath)
	pod := l.jobs()[0].Spec.Template.Spec
	assert.Equal(t, []corev1.VolumeDevice{{Name: "source", DevicePath: work.SourceDevice}}, pod.Containers[0].VolumeDevices)
	close(release)
	l.succeeds()
	l.nothingStaged()
	assert.Empty(t, condition(l.snapshot, kopiurv1.ConditionMetadataAltered).Status, "no kubelet changes groups on a device")
}

// A claim that its driver cannot attach read-only: attached writable, mounted read-only, and no group on the pod that the
// kubelet would give to the application's files.
func TestPublishedReadWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Sources[0].PVCPublicationReadOnly, l.policy.Spec.Sources[0].AcknowledgeReadWritePublication = new(false), true
	l.create()
	l.StartController()
	l.succeeds()
	assert.True(t, l.runs()[0].Spec.Operation.Snapshot.MustBeReadOnly, "the mover looks for itself")
	pod := l.jobs()[0].Spec.Template.Spec
	assert.Nil(t, pod.SecurityContext.FSGroup)
	for _, v := range pod.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			assert.False(t, v.PersistentVolumeClaim.ReadOnly)
		case v.Secret != nil:
			assert.Equal(t, int32(0o444), *v.Secret.DefaultMode, "no group lets the mover read its password")
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.Name == "source" {
			assert.True(t, m.ReadOnly)
		}
	}
}

// An NFS export has no claim to wait for and no copy to make. This kernel mounts none: what can be shown is the pod.
func TestExport(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.policy.Spec.Sources = []kopiurv1.Source{{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/volume1/photos"}}}
	l.leaveOut = l.source
	l.create()
	l.StartController()
	l.succeeds()
	assert.Equal(t, kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/volume1/photos"}, l.snapshot.Status.Snapshot.Identity)
	assert.Equal(t, []kopiurv1.ResolvedSource{{SourcePath: "/volume1/photos"}}, l.snapshot.Status.Resolved.Sources)
	found := false
	for _, v := range l.jobs()[0].Spec.Template.Spec.Volumes {
		if v.NFS != nil {
			found = true
			assert.Equal(t, corev1.NFSVolumeSource{Server: "nas.local", Path: "/volume1/photos", ReadOnly: true}, *v.NFS)
		}
	}
	assert.True(t, found)
	l.atRest()
}
