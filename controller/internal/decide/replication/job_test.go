// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func build(t *testing.T, w replication.World) (*batchv1.Job, work.Spec) {
	t.Helper()
	job, err := replication.Build(w, replication.Turn{At: slot}, moverjob.Images{Mover: "mover"}, "")
	require.NoError(t, err)
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	return job, spec
}

// mounts are the paths by the name of the claim or Secret that is mounted there.
func mounts(job *batchv1.Job) map[string]string {
	out := map[string]string{}
	pod := job.Spec.Template.Spec
	for _, v := range pod.Volumes {
		for _, m := range pod.Containers[0].VolumeMounts {
			switch {
			case m.Name != v.Name:
			case v.Secret != nil:
				out["secret "+v.Secret.SecretName] = m.MountPath
			case v.PersistentVolumeClaim != nil:
				out["claim "+v.PersistentVolumeClaim.ClaimName] = m.MountPath
			}
		}
	}
	return out
}

// F-10, J-11: TestBothSides: each side's Secrets are in folders of their own, and two repositories on volumes never share a
// path, whatever their own paths are.
func TestBothSides(t *testing.T) {
	t.Parallel()
	job, spec := build(t, given())
	assert.Equal(t, "replicate", spec.Operation.Name())
	assert.Equal(t, "copy", spec.Operation.Replicate.Destination.S3.Bucket)
	assert.True(t, spec.Operation.Replicate.Times)
	got := mounts(job)
	assert.Equal(t, map[string]string{
		"secret password": "/run/kopiur/source/password", "secret copy": "/run/kopiur/destination/auth", "claim disk": work.SourceRepositoryDir,
	}, got)
	assert.Equal(t, "offsite", job.Labels[kopiurv1.LabelReplication])
	assert.Equal(t, kopiurv1.ComponentReplication, job.Labels[kopiurv1.LabelComponent])
	assert.Equal(t, slot, job.Annotations[kopiurv1.AnnotationReplicationSlot])

	disks := given(func(w *replication.World) {
		w.Replication.Spec.Destination = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repo", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "other"}}}}
	})
	job, spec = build(t, disks)
	got = mounts(job)
	assert.Equal(t, work.SourceRepositoryDir, got["claim disk"])
	assert.Equal(t, work.DestinationRepositoryDir, got["claim other"])
	assert.Equal(t, work.SourceRepositoryDir, spec.Repository.Backend.Filesystem.Path)
	assert.Equal(t, work.DestinationRepositoryDir, spec.Operation.Replicate.Destination.Filesystem.Path)
}

// E-10, E-11: TestSync: how much at once, and how fast, reaches the mover, for each side.
func TestSync(t *testing.T) {
	t.Parallel()
	_, spec := build(t, given(func(w *replication.World) {
		w.Source.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Throttle: &kopiurv1.Throttle{DownloadBytesPerSecond: 9, UploadBytesPerSecond: 8, ReadOpsPerSecond: 7}}
		w.Replication.Spec.Sync = &kopiurv1.BlobSync{
			Parallel: new(int32(16)), DeleteExtra: true, MustExist: true, Times: new(false), Update: new(false),
			MaxDownloadSpeedBytesPerSecond: 100, MaxUploadSpeedBytesPerSecond: 200,
		}
	}))
	op := spec.Operation.Replicate
	assert.Equal(t, 16, op.Parallel)
	assert.True(t, op.DeleteExtra)
	assert.True(t, op.MustExist)
	assert.False(t, op.Times)
	assert.False(t, *op.Update)
	assert.Equal(t, &work.Throttle{DownloadBytesPerSecond: 100, UploadBytesPerSecond: 8, ReadOpsPerSecond: 7}, spec.Repository.Throttle)
	assert.Equal(t, &work.Throttle{DownloadBytesPerSecond: 9, UploadBytesPerSecond: 200, ReadOpsPerSecond: 7}, op.Throttle)

	_, spec = build(t, given())
	assert.False(t, spec.Operation.Replicate.DeleteExtra, "a copy only grows unless somebody says otherwise")
	assert.Nil(t, spec.Operation.Replicate.Throttle)
}

func TestReplica(t *testing.T) {
	t.Parallel()
	w := given()
	r := replication.Replica(w.Replication, *w.Source)
	assert.Equal(t, "RepositoryReplication apps/offsite", r.Ref.String())
	assert.Equal(t, "password", r.Spec.Encryption.PasswordSecretRef.Name, "a copy has the source's password")
	assert.Equal(t, "copy", r.Spec.Backend.S3.Bucket)
	assert.Equal(t, kopiurv1.ModeReadOnly, r.Spec.Mode)
	assert.NotNil(t, w.Source.Spec.Backend.Filesystem, "the source is as it was")
}
