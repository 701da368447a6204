// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func copyOf(from, to kopiurv1.Backend) moverjob.Request {
	owner := &kopiurv1.SnapshotReplication{}
	owner.Name, owner.Namespace, owner.UID = "offsite", "apps", "uid"
	peer := repo(to)
	peer.Ref.Name, peer.Spec.Encryption.PasswordSecretRef.Name, peer.Status.UniqueID = "away", "away-password", "22ff"
	return moverjob.Request{
		Owner: owner, GVK: kopiurv1.GroupVersion.WithKind("SnapshotReplication"), Letter: "c", Attempt: "1", Namespace: "apps",
		Image: moverjob.Images{Mover: "mover:1"}, Repository: repo(from), Operation: work.Operation{Migrate: &work.Migrate{LatestOnly: true}},
		Peer: &moverjob.Peer{Side: moverjob.Destination, Repository: peer, Throttle: &kopiurv1.Throttle{UploadBytesPerSecond: 7}},
	}
}

func toldOf(t *testing.T, job *batchv1.Job) work.Spec {
	t.Helper()
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	return spec
}

func mounts(job *batchv1.Job) map[string]string {
	pod := job.Spec.Template.Spec
	out, volumes := map[string]string{}, map[string]corev1.VolumeSource{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		switch v := volumes[m.Name]; {
		case v.Secret != nil:
			out[m.MountPath] = "Secret " + v.Secret.SecretName
		case v.ConfigMap != nil:
			out[m.MountPath] = "ConfigMap " + v.ConfigMap.Name
		case v.PersistentVolumeClaim != nil:
			out[m.MountPath] = "claim " + v.PersistentVolumeClaim.ClaimName
		}
	}
	return out
}

// J-11: two filesystem repositories with the same mount path.
func TestTwoRepositoriesOnVolumesHavePathsOfTheirOwn(t *testing.T) {
	t.Parallel()
	other := onPVC()
	other.Filesystem.Volume.PVC.Name = "other-claim"
	job, err := moverjob.Build(copyOf(onPVC(), other))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"/run/kopiur/source/password": "Secret nas-password", "/run/kopiur/destination/password": "Secret away-password",
		"/repository/source": "claim repo-claim", "/repository/destination": "claim other-claim",
	}, mounts(job))
	spec := toldOf(t, job)
	assert.Equal(t, "/repository/source", spec.Repository.Backend.Filesystem.Path)
	assert.Equal(t, "0011", spec.Repository.ExpectedUniqueID)
	m := spec.Operation.Migrate
	assert.True(t, m.LatestOnly)
	assert.Equal(t, "/repository/destination", m.Destination.Backend.Filesystem.Path)
	assert.Equal(t, "22ff", m.Destination.ExpectedUniqueID)
	assert.Equal(t, &work.Throttle{UploadBytesPerSecond: 7}, m.Destination.Throttle)
	assert.NotNil(t, job.Spec.Template.Spec.SecurityContext.FSGroup, "both are claims of the mover")
}

// F-10: the credentials of both sides, in folders of their own, so that equal keys never meet.
func TestBothSidesHaveTheirCredentials(t *testing.T) {
	t.Parallel()
	other := onS3()
	other.S3.Auth.SecretRef.Name, other.S3.TLS.CABundleRef.ConfigMapName = "away-keys", "away-ca"
	job, err := moverjob.Build(copyOf(onS3(), other))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"/run/kopiur/source/password": "Secret nas-password", "/run/kopiur/destination/password": "Secret away-password",
		"/run/kopiur/source/auth": "Secret s3-keys", "/run/kopiur/destination/auth": "Secret away-keys",
		"/run/kopiur/source/ca": "ConfigMap ca", "/run/kopiur/destination/ca": "ConfigMap away-ca",
	}, mounts(job))

	r := copyOf(onS3(), onRclone())
	r.Peer.Repository.Projected = "copied"
	job, err = moverjob.Build(r)
	require.NoError(t, err)
	assert.Equal(t, "mover:1-rclone", job.Spec.Template.Spec.Containers[0].Image, "either side may need it")
	assert.Equal(t, "Secret copied", mounts(job)["/run/kopiur/destination/password"])
	assert.Equal(t, "Secret copied", mounts(job)["/run/kopiur/destination/auth"])
	assert.Equal(t, "Secret nas-password", mounts(job)["/run/kopiur/source/password"])
}

func TestOnePodHasOneServiceAccount(t *testing.T) {
	t.Parallel()
	cloud := others()["gcs-identity"]
	job, err := moverjob.Build(copyOf(onS3(), cloud))
	require.NoError(t, err)
	assert.Equal(t, "cloud", job.Spec.Template.Spec.ServiceAccountName)
	azure := others()["azure-identity"]
	job, err = moverjob.Build(copyOf(azure, cloud))
	require.NoError(t, err)
	assert.Equal(t, "true", job.Spec.Template.Labels["azure.workload.identity/use"])
	azure.Azure.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "another"}}
	_, err = moverjob.Build(copyOf(azure, cloud))
	require.ErrorContains(t, err, "one ServiceAccount")
}

// A seed reads from its peer; a store without an object has the password of the new repository.
func TestTheOtherSideOfASeed(t *testing.T) {
	t.Parallel()
	r := copyOf(onPVC(), onS3())
	r.Operation = work.Operation{Seed: &work.Seed{Blob: &work.SeedBlob{Parallel: 4}}}
	r.Peer.Side, r.Peer.Store = moverjob.Source, true
	job, err := moverjob.Build(r)
	require.NoError(t, err)
	got := mounts(job)
	assert.Equal(t, "Secret nas-password", got["/run/kopiur/destination/password"])
	assert.NotContains(t, got, "/run/kopiur/source/password")
	assert.Equal(t, "Secret s3-keys", got["/run/kopiur/source/auth"])
	assert.Equal(t, "claim repo-claim", got["/repository/destination"])
	blob := toldOf(t, job).Operation.Seed.Blob
	assert.Equal(t, "backups", blob.Source.S3.Bucket)
	assert.Equal(t, 4, blob.Parallel)
	assert.Equal(t, int64(7), blob.Throttle.UploadBytesPerSecond)

	r.Operation, r.Peer.Store = work.Operation{Seed: &work.Seed{Migrate: &work.SeedMigrate{}}}, false
	job, err = moverjob.Build(r)
	require.NoError(t, err)
	assert.Equal(t, "Secret away-password", mounts(job)["/run/kopiur/source/password"])
	assert.Equal(t, "22ff", toldOf(t, job).Operation.Seed.Migrate.Source.ExpectedUniqueID)

	r.Operation, r.Peer.Side, r.Peer.Store = work.Operation{Replicate: &work.Replicate{Parallel: 9}}, moverjob.Destination, true
	job, err = moverjob.Build(r)
	require.NoError(t, err)
	assert.Equal(t, "backups", toldOf(t, job).Operation.Replicate.Destination.S3.Bucket)
}
