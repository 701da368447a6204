// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestWhatCannotBeCarriedOutSaysSo: no webhook stands in front of this API server. A backend without a mover, and a spec
// that admission would have refused, stall with a sentence, start nothing, and get well with the spec.
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
		"azure":  {kopiurv1.Backend{Azure: &kopiurv1.AzureBackend{Container: "c", StorageAccount: "a", Auth: keys}}, kopiurv1.ReasonNotYetSupported, "azure"},
		"gcs":    {kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b", Auth: keys}}, kopiurv1.ReasonNotYetSupported, "gcs"},
		"b2":     {kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "b", Auth: keys}}, kopiurv1.ReasonNotYetSupported, "b2"},
		"sftp":   {kopiurv1.Backend{SFTP: &kopiurv1.SFTPBackend{Host: "h", Path: "/p", Auth: keys}}, kopiurv1.ReasonNotYetSupported, "sftp"},
		"webdav": {kopiurv1.Backend{WebDAV: &kopiurv1.WebDAVBackend{URL: "https://h/p", Auth: keys}}, kopiurv1.ReasonNotYetSupported, "webDav"},
		"rclone": {kopiurv1.Backend{Rclone: &kopiurv1.RcloneBackend{RemotePath: "r:p", ConfigSecretRef: keys.SecretRef}}, kopiurv1.ReasonNotYetSupported, "rclone"},
		"gdrive": {kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "f", CredentialsSecretRef: keys.SecretRef}}, kopiurv1.ReasonNotYetSupported, "gdrive"},
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

	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "azure"}}
	env.Change(r, func() {
		r.Spec.Backend = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b", Endpoint: "https://s3.example.org", Auth: keys}}
	})
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	require.Len(t, env.Calls(), 1)
	assert.Equal(t, "s3.example.org", env.Calls()[0].Spec.Repository.Backend.S3.Endpoint, "without the scheme")
}
