// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestWhatCannotBeCarriedOutSaysSo: no webhook stands in front of this API server. A spec that admission would have
// refused stalls with a sentence, starts nothing, and gets well with the spec.
func TestWhatCannotBeCarriedOutSaysSo(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	keys := &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
	refused := map[string]struct {
		backend kopiurv1.Backend
		reason  string
		message string
	}{
		"address": {
			kopiurv1.Backend{WebDAV: &kopiurv1.WebDAVBackend{URL: "https://user:password@h/p"}},
			kopiurv1.ReasonInvalidSpec, "spec.backend.webDav.url",
		},
		"token": {
			kopiurv1.Backend{Azure: &kopiurv1.AzureBackend{Container: "c"}},
			kopiurv1.ReasonInvalidSpec, "spec.backend.azure.storageAccount",
		},
		"vault": {
			kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b", Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys", Namespace: "vault"}}}},
			kopiurv1.ReasonInvalidSpec, "spec.backend.s3.auth.secretRef.namespace",
		},
	}
	for name, tc := range refused {
		env.Create(&kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.RepositorySpec{
			Backend: tc.backend, Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		}})
	}
	env.StartController()
	for name, tc := range refused {
		r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}}
		expect(t, env, r, kopiurv1.RepositoryFailed, tc.reason)
		assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionStalled).Message, tc.message)
		assert.Equal(t, tc.backend.Name(), r.Status.Backend)
	}
	require.Empty(t, jobs(t, env, env.Namespace), "nothing was started")

	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "token"}}
	env.Change(r, func() {
		r.Spec.Backend = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b", Endpoint: "https://s3.example.org", Auth: keys}}
	})
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	require.Len(t, env.Calls(), 1)
	assert.Equal(t, "s3.example.org", env.Calls()[0].Spec.Repository.Backend.S3.Endpoint, "without the scheme")
}

// TestEveryBackendGetsItsMover: the controller looks into no Secret. It mounts them whole, with what else the backend
// needs, and the mover is told the rest.
func TestEveryBackendGetsItsMover(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	env.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cloud"}})
	keys := &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
	identity := &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
	backends := map[string]kopiurv1.Backend{
		"azure":    {Azure: &kopiurv1.AzureBackend{Container: "c", StorageAccount: "a", Auth: keys}},
		"federal":  {Azure: &kopiurv1.AzureBackend{Container: "c", StorageAccount: "a", Auth: identity}},
		"gcs":      {GCS: &kopiurv1.GCSBackend{Bucket: "b", Auth: keys}},
		"b2":       {B2: &kopiurv1.B2Backend{Bucket: "b", Auth: keys}},
		"sftp":     {SFTP: &kopiurv1.SFTPBackend{Host: "h", Path: "/p", Username: "u", Auth: keys}},
		"webdav":   {WebDAV: &kopiurv1.WebDAVBackend{URL: "https://h/p", Auth: keys}},
		"everyone": {WebDAV: &kopiurv1.WebDAVBackend{URL: "https://h/p"}},
		"rclone":   {Rclone: &kopiurv1.RcloneBackend{RemotePath: "r:p", ConfigSecretRef: keys.SecretRef, StartupTimeout: "90s"}},
		"gdrive":   {GDrive: &kopiurv1.GDriveBackend{FolderID: "f", CredentialsSecretRef: keys.SecretRef}},
	}
	for name, b := range backends {
		env.Create(&kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.RepositorySpec{
			Backend: b, Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		}})
	}
	env.StartController()
	for name, b := range backends {
		r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}}
		expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		assert.Equal(t, b.Name(), r.Status.Backend)
	}
	found := map[string]bool{}
	for _, job := range jobs(t, env, env.Namespace) {
		name := job.OwnerReferences[0].Name
		found[name] = true
		pod, b := job.Spec.Template.Spec, backends[name]
		assert.Equal(t, b.ServiceAccount(), pod.ServiceAccountName, name)
		assert.Equal(t, b.SecretName() != "", hasVolume(pod, "auth"), name)
		assert.Equal(t, name == "federal", job.Spec.Template.Labels["azure.workload.identity/use"] == "true", name)
		assert.Equal(t, name == "rclone", strings.HasSuffix(pod.Containers[0].Image, "-rclone"), "%s: the image without rclone is a quarter of the size", name)
		spec, err := work.DecodeSpec(pod.Containers[0].Env[0].Value)
		require.NoError(t, err)
		assert.Nil(t, spec.Repository.Backend.S3, name)
		if name == "rclone" {
			assert.Equal(t, int64(90), spec.Repository.Backend.Rclone.StartupTimeoutSeconds)
		}
	}
	assert.Len(t, found, len(backends), "each has had a Job")
}

func hasVolume(pod corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}
