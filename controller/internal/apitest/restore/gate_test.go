// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestMissingSecretHealsByTheWatch: the Restore's own rest is an hour, so that only the watch can have healed it.
func TestMissingSecretHealsByTheWatch(t *testing.T) {
	t.Parallel()
	// A cluster repository has its own copy of the Secret at home; its movers need one where they run.
	w := newWorld(t)
	home := w.AddNamespace()
	secret := testenv.Secret("offsite", map[string]string{"KOPIA_PASSWORD": "x"})
	secret.Namespace = home
	w.Create(secret, &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + w.Namespace}, Spec: kopiurv1.ClusterRepositorySpec{
		RepositorySpec: kopiurv1.RepositorySpec{
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "offsite", Namespace: home}},
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
		},
		AllowedNamespaces: kopiurv1.AllowedNamespaces{List: []string{w.Namespace}},
	}})
	w.begin()
	r := w.restore(func(s *kopiurv1.RestoreSpec) {
		s.Repository = &kopiurv1.RepositoryRef{Name: "offsite-" + w.Namespace, Kind: kopiurv1.KindClusterRepository}
	})
	w.until(r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Equal(t, kopiurv1.RestorePending, r.Status.Phase)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "Secret "+w.Namespace+"/offsite does not exist")
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonMissingCredentialsSecret)
	w.noClaim("data-new")
	w.rests(r)
	w.Create(testenv.Secret("offsite", map[string]string{"KOPIA_PASSWORD": "x"}))
	w.untilReady(r)
	assert.Equal(t, kopiurv1.KindClusterRepository, r.Status.Resolved.Repository.Kind, "spec.repository replaces the Snapshot's own")
}

func TestPrivilegeGateHealsByTheAnnotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) { s.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} })
	w.until(r, kopiurv1.ConditionMoverPermitted, metav1.ConditionFalse, kopiurv1.ReasonPrivilegedMoverNotPermitted)
	assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID, "asking takes no privileges")
	assert.Empty(t, w.CallsOf("restore"))
	w.noClaim("data-new")
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonPrivilegedMoverNotPermitted)
	w.rests(r)

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.update(ns, func() { ns.Annotations = map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"} })
	w.untilReady(r)
	var pod corev1.Pod
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: w.CallsOf("restore")[0].Pod}, &pod))
	assert.EqualValues(t, 0, *pod.Spec.Containers[0].SecurityContext.RunAsUser, "a privileged restore really runs as root (F-2)")
	assert.Contains(t, pod.Spec.Containers[0].SecurityContext.Capabilities.Add, corev1.Capability("CHOWN"))
}

func TestRepositoryIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	w.begin()
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Bootstrap != nil {
			p.Hold = hold
		}
		return p
	})
	r := w.restore(func(s *kopiurv1.RestoreSpec) { s.Repository = &kopiurv1.RepositoryRef{Name: "later"} })
	w.until(r, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonMissingDependency)
	assert.Equal(t, kopiurv1.RestorePending, r.Status.Phase)
	w.rests(r)
	w.Create(&kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Spec: w.Repository.Spec})
	w.until(r, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
	close(hold)
	w.untilReady(r)
}

// TestMissingKeyIsNamedAndHealed: only the mover can see that a Secret lacks a key.
func TestMissingKeyIsNamedAndHealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Bootstrap == nil {
			return testenv.Fail(c, work.CodeMissingCredentials, "Secret password has no key KOPIA_PASSWORD")
		}
		return testenv.Succeed(c)
	})
	w.begin()
	r := w.restore(fromPolicy)
	w.until(r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionCredentialsAvailable).Message, "KOPIA_PASSWORD")
	w.Mover(testenv.Succeed)
	w.update(w.Secret, func() { w.Secret.StringData = map[string]string{"KOPIA_PASSWORD": "y"} })
	w.untilReady(r)
}

func TestFailedReopensWhenTheSecretChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failRestores(work.CodeAuthFailure, "the password is wrong")
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	assert.Equal(t, "AuthFailure", r.Status.Failure.KopiaErrorClass)
	pin, version := *r.Status.Resolved, r.Status.ResolvedCredentialVersion
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	w.touch(r)
	w.rests(r)
	assert.Len(t, w.CallsOf("restore"), 1, "one-shot")

	w.Mover(testenv.Succeed)
	w.update(w.Secret, func() { w.Secret.StringData = map[string]string{"KOPIA_PASSWORD": "right"} })
	w.untilReady(r)
	assert.Equal(t, pin, *r.Status.Resolved, "the pin stays")
	assert.NotEqual(t, version, r.Status.ResolvedCredentialVersion)
	assert.Nil(t, r.Status.Failure)
	w.untilEvent(r, corev1.EventTypeNormal, kopiurv1.ReasonReopened)
}

func TestFailedReopensWhenTheSpecChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failRestores(work.CodePermissionDenied, "may not write")
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
	w.Mover(testenv.Succeed)
	w.update(r, func() { r.Spec.Options = &kopiurv1.RestoreOptions{SkipOwners: new(true)} })
	w.untilReady(r)
	calls := w.CallsOf("restore")
	assert.True(t, *calls[len(calls)-1].Spec.Operation.Restore.Options.SkipOwners)
}

func (w *world) failRestores(code work.Code, message string) {
	w.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Restore != nil {
			return testenv.Fail(c, code, message)
		}
		return testenv.Succeed(c)
	})
}

// F-1, B-5: TestOwnershipIsReported is K-5.
func TestOwnershipIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if p.Result.Restore != nil {
			p.Result.Restore.Ownership = work.Ownership{Applied: 2, Failed: 2, Paths: []work.EntryFault{
				{Path: "db/a", UID: 999, Mode: "-rw-------", Reason: "operation not permitted"},
			}}
			p.Result.Restore.SnapshotID = "k1-after-pin"
		}
		p.Log = []work.Event{{Type: work.EventLog, Time: time.Now(), Level: "info", Message: "last words"}}
		return p
	})
	w.begin()
	r := w.restore()
	w.untilReady(r)
	c := conditionOf(r, kopiurv1.ConditionOwnershipApplied)
	assert.Equal(t, metav1.ConditionFalse, c.Status)
	assert.Equal(t, kopiurv1.ReasonOwnershipIncomplete, c.Reason)
	assert.Contains(t, c.Message, "runAsUser 999")
	assert.EqualValues(t, 2, r.Status.Ownership.Failed)
	assert.Equal(t, "db/a", r.Status.Ownership.Paths[0].Path)
	assert.Equal(t, "k1-after-pin", r.Status.Resolved.KopiaSnapshotID, "an id that healed is recorded (K-3)")
	assert.Contains(t, r.Status.LogTail, "last words")
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonOwnershipIncomplete)
}

func TestLiveProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Restore != nil {
			p.Hold = hold
			p.Log = []work.Event{{Type: work.EventProgress, Time: time.Now(), Progress: &work.Progress{
				BytesProcessed: 100, FilesProcessed: 7, BytesTotal: 400, BytesPerSecond: 50, ETASeconds: 6,
			}}}
		}
		return p
	})
	w.begin()
	r := w.restore()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, w.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		require.NotNil(c, r.Status.Progress)
		assert.Equal(c, int64(100), r.Status.Progress.BytesRestored)
		assert.Equal(c, int64(6), r.Status.Progress.ETASeconds)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, kopiurv1.RestoreRestoring, r.Status.Phase)
	assert.Equal(t, kopiurv1.ReasonMoverRunning, conditionOf(r, kopiurv1.ConditionReady).Reason)
	close(hold)
	w.untilReady(r)
	assert.Equal(t, int64(4096), r.Status.Progress.BytesRestored)
}

func TestLostResultIsRestoredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var restores atomic.Int32
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.PodGone = c.Spec.Operation.Restore != nil && restores.Add(1) == 1
		return p
	})
	w.begin()
	r := w.restore()
	w.untilReady(r)
	assert.EqualValues(t, 2, r.Status.Job.Attempts)
	calls := w.CallsOf("restore")
	require.Len(t, calls, 2)
	assert.NotEqual(t, calls[0].Job, calls[1].Job)
}
