// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// TestWrongPassword: a second Repository object on the same store with another password fails by name (K-9), and is
// ready as soon as the Secret is corrected (C-15).
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	secret := framework.PasswordSecret(ns, "other", "not the password")
	r := framework.Repository(ns, "other", framework.OnClaim("repo"))
	r.Spec.Encryption.PasswordSecretRef.Name = "other"
	e.Create(t, secret, r)
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, "AuthFailure")
	assert.Equal(t, kopiurv1.RepositoryFailed, r.Status.Phase)
	assert.NotContains(t, framework.Condition(r, kopiurv1.ConditionStalled).Message, "not the password")

	secret.StringData = map[string]string{"KOPIA_PASSWORD": framework.Password}
	require.NoError(t, e.Client.Update(t.Context(), secret))
	e.WaitReady(t, r)
}

// TestTrailingNewlineInThePassword is named, because it cannot be seen (K-9).
func TestTrailingNewlineInThePassword(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	r := framework.Repository(ns, "other", framework.OnClaim("repo"))
	r.Spec.Encryption.PasswordSecretRef.Name = "newline"
	e.Create(t, framework.PasswordSecret(ns, "newline", framework.Password+"\n"), r)
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Contains(t, framework.Condition(r, kopiurv1.ConditionStalled).Message, "newline")
}

// TestSecretWithoutTheKey names the key and heals when it is added.
func TestSecretWithoutTheKey(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "password"}, StringData: map[string]string{"OTHER": "x"}}
	r := framework.Repository(ns, "repo", framework.OnClaim("repo"))
	e.Create(t, framework.PVC(ns, "repo", framework.ClassImmediate, "1Gi"), secret, r)
	e.WaitCondition(t, r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, framework.Condition(r, kopiurv1.ConditionCredentialsAvailable).Message, "KOPIA_PASSWORD")

	secret.StringData = map[string]string{"KOPIA_PASSWORD": framework.Password}
	require.NoError(t, e.Client.Update(t.Context(), secret))
	e.WaitReady(t, r)
}

// TestNoSuchSecret waits with the Secret's name and is woken by the watch when it appears.
func TestNoSuchSecret(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := framework.Repository(ns, "repo", framework.OnClaim("repo"))
	e.Create(t, framework.PVC(ns, "repo", framework.ClassImmediate, "1Gi"), r)
	e.WaitCondition(t, r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Equal(t, kopiurv1.RepositoryPending, r.Status.Phase)
	assert.Contains(t, framework.Condition(r, kopiurv1.ConditionCredentialsAvailable).Message, "password")
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password))
	e.WaitReady(t, r)
}

// TestUnreachableEndpoint degrades and is retried; it is not a failure of the object.
func TestUnreachableEndpoint(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s3-keys"}, StringData: map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}}
	r := framework.Repository(ns, "repo", framework.OnS3("127.0.0.1:9", framework.Bucket))
	r.Spec.Bootstrap = &kopiurv1.BootstrapSpec{FailurePolicy: &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}}
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), keys, r)
	e.WaitCondition(t, r, kopiurv1.ConditionBackendReachable, metav1.ConditionFalse, kopiurv1.ReasonBackendUnreachable)
	assert.Equal(t, kopiurv1.RepositoryDegraded, r.Status.Phase)
	assert.Equal(t, metav1.ConditionFalse, framework.Condition(r, kopiurv1.ConditionStalled).Status)
	assert.Equal(t, metav1.ConditionTrue, framework.Condition(r, kopiurv1.ConditionReconciling).Status)
}

// TestMissingBucket names the bucket.
func TestMissingBucket(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := framework.Repository(ns, "repo", framework.OnS3(e.S3Server(t, ns), "no-such-bucket"))
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), r)
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Contains(t, framework.Condition(r, kopiurv1.ConditionStalled).Message, "no-such-bucket")
}

// TestOccupiedPath never writes into a folder that holds something else.
func TestOccupiedPath(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.Create(t, framework.PVC(ns, "photos", framework.ClassImmediate, "1Gi"), framework.PasswordSecret(ns, "password", framework.Password))
	e.RunApp(t, ns, "photos", framework.AppOptions{}, "fill", "--files", "20", "/data/holiday")
	before := e.List(t, ns, "photos")
	r := framework.Repository(ns, "repo", framework.OnClaim("photos"))
	e.Create(t, r)
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonLocationOccupied)
	assert.Equal(t, framework.Contents(before), framework.Contents(e.List(t, ns, "photos")), "nothing was written")
}

// TestMissingSource waits with the claim's name and goes on when it appears.
func TestMissingSource(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), s)
	e.WaitCondition(t, s, kopiurv1.ConditionSourcePVCAvailable, metav1.ConditionFalse, kopiurv1.ReasonSourcePVCMissing)
	assert.Contains(t, framework.Condition(s, kopiurv1.ConditionSourcePVCAvailable).Message, "data")
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.WaitReady(t, s)
}

// TestClassWithoutSnapshots says so and points to Direct; it never falls back by itself.
func TestClassWithoutSnapshots(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassNoSnap, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot), s)
	e.WaitCondition(t, s, kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonNoVolumeSnapshotClass)
	assert.Contains(t, framework.Condition(s, kopiurv1.ConditionSourceStaged).Message, "Direct")
	assert.Nil(t, s.Status.Snapshot)
}

// F-3, F-4: TestUnreadableFiles: the snapshot is stored but not Ready, with count, path, uid and mode (K-4).
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "3", "--files", "40", "/data/app")
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	tolerant := framework.Policy(ns, "tolerant", "data", kopiurv1.CopySnapshot)
	tolerant.Spec.ErrorHandling = &kopiurv1.ErrorHandling{IgnoreFileErrors: true, IgnoreDirErrors: true}
	s, ok := framework.Snapshot(ns, "strict", "app"), framework.Snapshot(ns, "tolerant", "tolerant")
	e.Create(t, p, s, tolerant, ok)

	e.WaitCondition(t, s, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotIncompleteUnreadableEntries)
	assert.Equal(t, kopiurv1.SnapshotFailed, s.Status.Phase)
	assert.NotEmpty(t, s.Status.Snapshot.KopiaSnapshotID, "what could be read is stored")
	require.NotNil(t, s.Status.Unstored)
	assert.Positive(t, s.Status.Unstored.Unreadable)
	require.NotEmpty(t, s.Status.Unstored.Paths)
	assert.NotEmpty(t, s.Status.Unstored.Paths[0].Mode)

	e.WaitReady(t, ok)
	assert.Positive(t, ok.Status.Stats.FilesFailed)
	assert.Equal(t, metav1.ConditionFalse, framework.Condition(ok, kopiurv1.ConditionSecurityContextCompatible).Status)
}

// TestPrivilegeGate: no consent, no root, and no Job; the annotation alone heals it.
func TestPrivilegeGate(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	e.WaitCondition(t, s, kopiurv1.ConditionMoverPermitted, metav1.ConditionFalse, kopiurv1.ReasonPrivilegedMoverNotPermitted)
	assert.Empty(t, e.Jobs(t, ns, jobsOf(s)))
	namespace := &corev1.Namespace{}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, namespace))
	namespace.Annotations = framework.Privileged()
	require.NoError(t, e.Client.Update(t.Context(), namespace))
	e.WaitReady(t, s)
}
