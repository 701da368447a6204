// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// offsite makes a ClusterRepository with its Secrets in another namespace, and lets the policy use it.
func (l *lab) offsite(allowed bool) *kopiurv1.ClusterRepository {
	l.t.Helper()
	home := l.AddNamespace()
	password := testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x", "private": "nobody else's"})
	keys := testenv.Secret("keys", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
	password.Namespace, keys.Namespace = home, home
	cluster := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + l.Namespace}}
	cluster.Spec.RepositorySpec = l.repository.Spec
	cluster.Spec.Encryption.PasswordSecretRef.Namespace = home
	cluster.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys", Namespace: home}}
	cluster.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{All: new(true)}
	cluster.Spec.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: allowed}
	l.policy.Spec.Repository = &kopiurv1.RepositoryRef{Name: cluster.Name, Kind: kopiurv1.KindClusterRepository}
	l.policy.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
	l.Create(password, keys, cluster, l.policy, l.source, l.snapshot)
	return cluster
}

func projecting(o *setup.Options) { o.CredentialProjection = true }

// copies are the Secrets that were copied into the test's namespace.
func (l *lab) copies() []corev1.Secret {
	l.t.Helper()
	var list corev1.SecretList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelComponent: kopiurv1.ComponentCredentials}))
	return list.Items
}

// E-1, E-2: one copy per repository and namespace however many runs, with what movers need and no more; no ConfigMap; and
// the sweep takes it away when no run has used it for an hour.
func TestCredentialsAreCopiedOnceE1E2(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.offsite(true)
	l.StartController(projecting)
	l.succeeds()
	first := l.snapshot
	l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: *first.Spec.DeepCopy()}
	l.Create(l.snapshot)
	l.succeeds()
	assert.Equal(t, kopiurv1.ReasonProjected, condition(l.snapshot, kopiurv1.ConditionCredentialsAvailable).Reason)
	copies := l.copies()
	require.Len(t, copies, 1, "E-1")
	assert.Equal(t, map[string][]byte{"KOPIA_PASSWORD": []byte("x"), "AWS_ACCESS_KEY_ID": []byte("a"), "AWS_SECRET_ACCESS_KEY": []byte("b")}, copies[0].Data)
	for _, v := range l.jobs()[0].Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			assert.Equal(t, copies[0].Name, v.Secret.SecretName)
		}
	}
	assert.NotNil(t, l.snapshot.Status.Resolved.CredentialProjection, "deleting goes on when the policy is gone")
	var maps corev1.ConfigMapList
	require.NoError(t, l.Client.List(t.Context(), &maps, client.InNamespace(l.Namespace)))
	for _, m := range maps.Items {
		assert.NotEqual(t, kopiurv1.ManagedByValue, m.Labels[kopiurv1.LabelManagedBy], "E-2")
	}

	sweep := func(after time.Duration) int {
		s := &projection.Sweeper{Client: l.Permitted(), Live: l.Permitted(), Clock: testclock.NewFakeClock(copies[0].CreationTimestamp.Add(after)), Namespaces: []string{l.Namespace}}
		n, err := s.Sweep(t.Context())
		require.NoError(t, err)
		return n
	}
	assert.Zero(t, sweep(50*time.Minute), "it was just used")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: "still-at-work"}, Spec: batchv1.JobSpec{Template: l.jobs()[0].Spec.Template}}
	job.Spec.Template.Labels, job.Spec.Suspend = nil, new(true)
	l.Create(job)
	assert.Zero(t, sweep(5*time.Hour), "a mover mounts it")
	require.NoError(t, l.Client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	assert.Equal(t, 1, sweep(5*time.Hour))
	assert.Empty(t, l.copies())
}

// E-1: nothing is copied unless all agree; who does not is named, and Secrets made by hand will do instead.
func TestCredentialsTakeThreeYesesE1(t *testing.T) {
	t.Parallel()
	t.Run("the repository's owner does not", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		cluster := l.offsite(false)
		l.StartController(projecting)
		c := l.waits(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonBlockedOnGrant)
		assert.Contains(t, c.Message, "its owner sets spec.credentialProjection.allowed")
		assert.Empty(t, l.copies())
		l.atRest()
		l.Change(cluster, func() { cluster.Spec.CredentialProjection.Allowed = true })
		l.succeeds()
	})
	t.Run("the installation does not, and Secrets made by hand will do", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.offsite(true)
		l.StartController()
		c := l.waits(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonBlockedOnGrant)
		assert.Contains(t, c.Message, "features.credentialProjection.enabled")
		l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Secret("keys", map[string]string{"a": "b"}))
		l.succeeds()
		assert.Empty(t, l.copies())
	})
	t.Run("the policy does not", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.policy.Spec.CredentialProjection = nil
		l.offsite(true)
		l.Change(l.policy, func() { l.policy.Spec.CredentialProjection = nil })
		l.StartController(projecting)
		l.waits(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
		assert.Empty(t, l.copies())
	})
}

// A Secret of that name that is somebody else's is never written to.
func TestForeignSecretIsNotOverwritten(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	cluster := l.offsite(true)
	foreign := testenv.Secret("x", map[string]string{"mine": "1"})
	foreign.Name = projection.Name(moverjob.FromClusterRepository(cluster, l.Namespace))
	l.Create(foreign)
	l.StartController(projecting)
	c := l.waits(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, c.Message, "belongs to somebody else and is not written to")
	assert.Empty(t, l.jobs())
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	assert.Equal(t, map[string][]byte{"mine": []byte("1")}, foreign.Data)
}
