// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

func jobsOf(s *kopiurv1.Snapshot) map[string]string {
	return map[string]string{kopiurv1.LabelOwnerUID: string(s.UID)}
}

// C-1, C-2, K-1: TestObjectStoreOutage: the store goes down while backups run. One that may try only once fails, and with that
// the repository is found out of reach: what comes later waits without a Job, and a restore that may go on without a
// snapshot makes no empty volume. The store comes back; the backup that kept
// trying succeeds, which is all that it takes, and what waited goes on by itself.
func TestObjectStoreOutage(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := framework.Repository(ns, "repo", framework.OnS3(e.S3Server(t, ns), framework.Bucket))
	r.Spec.Health = &kopiurv1.HealthSpec{Probe: &kopiurv1.HealthProbe{FailureThreshold: new(int32(1))}}
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), r, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.WaitReady(t, r)
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	before := framework.Snapshot(ns, "before", "app")
	e.Create(t, p, before)
	e.WaitReady(t, before)

	e.StopS3(t, ns)
	once, stubborn, later := framework.Snapshot(ns, "once", "app"), framework.Snapshot(ns, "stubborn", "app"), framework.Snapshot(ns, "later", "app")
	once.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
	stubborn.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(20))}
	e.Create(t, once, stubborn)
	e.WaitCondition(t, once, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
	assert.Equal(t, string(work.CodeRepositoryUnavailable), once.Status.Failure.KopiaErrorClass)
	e.WaitCondition(t, r, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonBackendUnreachable)
	assert.Equal(t, kopiurv1.RepositoryDegraded, r.Status.Phase)
	assert.Equal(t, metav1.ConditionFalse, framework.Condition(r, kopiurv1.ConditionBackendReachable).Status)
	back := framework.RestoreInto(ns, "back", "", "")
	back.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app"}}
	back.Spec.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingContinue, WaitTimeout: "1s"}
	back.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "back", Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
	e.Create(t, later, back)
	e.WaitCondition(t, later, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
	e.WaitCondition(t, back, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
	assert.Empty(t, e.Jobs(t, ns, jobsOf(later)))
	assert.Empty(t, e.Jobs(t, ns, map[string]string{kopiurv1.LabelOwnerUID: string(back.UID)}))
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "back"}}
	assert.True(t, apierrors.IsNotFound(e.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)), "no volume that looks restored")

	e.StartS3(t, ns)
	e.WaitReady(t, stubborn)
	e.WaitReady(t, r)
	e.WaitReady(t, later)
	assert.NotEqual(t, before.Status.Snapshot.KopiaSnapshotID, later.Status.Snapshot.KopiaSnapshotID)
	assert.Equal(t, kopiurv1.SnapshotFailed, once.Status.Phase)
	e.WaitReady(t, back)
	assert.Equal(t, kopiurv1.ResolutionSnapshot, back.Status.Resolved.Resolution)
	assert.Equal(t, "x", e.RunApp(t, ns, "back", framework.AppOptions{}, "cat", "/data/file"))
}

// C-2, C-15, K-9: TestRotatedPassword: the Secret of a repository in use gets a password that is not its own. That is said,
// what comes later waits without a Job; and it goes on by itself once the Secret is right again.
func TestRotatedPassword(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.Policy(ns, "app", "data", kopiurv1.CopyDirect))
	rotate := func(password string) {
		secret := framework.PasswordSecret(ns, "password", password)
		require.NoError(t, e.Client.Update(t.Context(), secret))
	}
	rotate("tomorrow's password")
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, "AuthFailure")
	assert.NotContains(t, framework.Condition(r, kopiurv1.ConditionStalled).Message, "tomorrow's password")
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, s)
	e.WaitCondition(t, s, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
	assert.Empty(t, e.Jobs(t, ns, jobsOf(s)))
	rotate(framework.Password)
	e.WaitReady(t, r)
	e.WaitReady(t, s)
}
