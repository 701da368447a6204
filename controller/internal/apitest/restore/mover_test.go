// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// offsite makes a ClusterRepository whose Secrets lie in another namespace.
func (w *world) offsite(allowed bool) *kopiurv1.ClusterRepository {
	w.T.Helper()
	home := w.AddNamespace()
	secret := testenv.Secret("offsite", map[string]string{"KOPIA_PASSWORD": "x", "private": "nobody else's"})
	secret.Namespace = home
	cluster := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + w.Namespace}, Spec: kopiurv1.ClusterRepositorySpec{
		RepositorySpec: kopiurv1.RepositorySpec{
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "offsite", Namespace: home}},
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
		},
		AllowedNamespaces:    kopiurv1.AllowedNamespaces{List: []string{w.Namespace}},
		CredentialProjection: &kopiurv1.ProjectionGate{Allowed: allowed},
	}}
	w.Create(secret, cluster)
	return cluster
}

func projecting(o *setup.Options) { o.CredentialProjection = true }

func fromOffsite(cluster *kopiurv1.ClusterRepository) func(*kopiurv1.RestoreSpec) {
	return func(s *kopiurv1.RestoreSpec) {
		s.Repository = &kopiurv1.RepositoryRef{Name: cluster.Name, Kind: kopiurv1.KindClusterRepository}
		s.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
	}
}

// copies are the Secrets that were copied into the test's namespace.
func (w *world) copies() []corev1.Secret {
	w.T.Helper()
	var list corev1.SecretList
	require.NoError(w.T, w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{kopiurv1.LabelComponent: kopiurv1.ComponentCredentials}))
	return list.Items
}

// E-1: question and restore mount one copy, which has what movers need and no more.
func TestCredentialsAreCopiedForARestoreE1(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.offsite(true)
	w.StartController(projecting)
	w.untilConnected(w.Repository)
	r := w.restore(fromPolicy, fromOffsite(cluster))
	w.untilReady(r)
	assert.Equal(t, kopiurv1.ReasonProjected, conditionOf(r, kopiurv1.ConditionCredentialsAvailable).Reason)
	copies := w.copies()
	require.Len(t, copies, 1)
	assert.Equal(t, map[string][]byte{"KOPIA_PASSWORD": []byte("x")}, copies[0].Data)
	jobs := w.jobsOf(r)
	require.Len(t, jobs, 2)
	for _, job := range jobs {
		for _, v := range job.Spec.Template.Spec.Volumes {
			if v.Secret != nil {
				assert.Equal(t, copies[0].Name, v.Secret.SecretName)
			}
		}
	}
	w.rests(r)
}

// Who does not agree is named, and the restore starts when they do.
func TestCopyingTakesTheOwnersYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.offsite(false)
	w.StartController(projecting)
	w.untilConnected(w.Repository)
	r := w.restore(fromOffsite(cluster))
	w.until(r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonBlockedOnGrant)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "its owner sets spec.credentialProjection.allowed")
	assert.Empty(t, w.copies())
	w.noClaim("data-new")
	w.rests(r)
	w.update(cluster, func() { cluster.Spec.CredentialProjection.Allowed = true })
	w.untilReady(r)
}

// A Secret of the copy's name that is somebody else's is never written to, and no claim is made meanwhile.
func TestForeignSecretIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.offsite(true)
	foreign := testenv.Secret(projection.Name(moverjob.FromClusterRepository(cluster, w.Namespace)), map[string]string{"mine": "1"})
	w.Create(foreign)
	clock := w.NewTime()
	w.StartController(projecting, clock.Decisions)
	w.untilConnected(w.Repository)
	r := w.restore(fromOffsite(cluster))
	w.until(r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "belongs to somebody else and is not written to")
	w.noClaim("data-new")
	assert.Empty(t, w.jobsOf(r))
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	assert.Equal(t, map[string][]byte{"mine": []byte("1")}, foreign.Data)
	require.NoError(t, w.Client.Delete(t.Context(), foreign))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		clock.Step(10 * time.Second)
		w.GetC(c, r)
		assert.Equal(c, kopiurv1.RestoreCompleted, r.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	assert.EqualValues(t, 1, r.Status.Job.Attempts, "the attempt that was recorded is the one that ran")
}

func asTheBackup(s *kopiurv1.RestoreSpec) {
	s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}}
}

// wrote is the container of the pod that wrote into the claim.
func (w *world) wrote() corev1.Container {
	w.T.Helper()
	movers := w.CallsOf("restore")
	require.NotEmpty(w.T, movers)
	var pod corev1.Pod
	require.NoError(w.T, w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: movers[0].Pod}, &pod))
	return pod.Spec.Containers[0]
}

// F-7: a restore runs as the backup did. One of which nothing is known waits, with an event, and starts when it is.
func TestARestoreRunsAsTheBackupDidF7(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := w.NewTime()
	w.StartController(clock.Decisions)
	w.untilConnected(w.Repository)
	r := w.restore(asTheBackup)
	w.until(r, kopiurv1.ConditionSecurityContextResolved, metav1.ConditionFalse, kopiurv1.ReasonMissingRecordedIdentity)
	assert.Equal(t, kopiurv1.RestorePending, r.Status.Phase)
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonMissingRecordedIdentity)
	w.noClaim("data-new")
	w.rests(r)
	w.setStatus(w.Snapshot, func() {
		w.Snapshot.Status.Recorded = &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedInherited, UID: new(int64(999)), GID: new(int64(998))}
	})
	w.untilReady(r)
	assert.Equal(t, kopiurv1.ReasonInheritApplied, conditionOf(r, kopiurv1.ConditionSecurityContextResolved).Reason)
	assert.Equal(t, int64(999), *w.wrote().SecurityContext.RunAsUser)
	assert.Equal(t, int64(998), *w.wrote().SecurityContext.RunAsGroup)
	w.rests(r)
}

// F-7: the same where the repository was asked which snapshot is meant: its object is found by its id.
func TestARestoreOfAPolicyRunsAsTheBackupDidF7(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(w.Snapshot, func() { w.Snapshot.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "db"} })
	w.setStatus(w.Snapshot, func() {
		w.Snapshot.Status.Snapshot.KopiaSnapshotID = "kfound"
		w.Snapshot.Status.Recorded = &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedExplicit, UID: new(int64(999))}
	})
	w.begin()
	r := w.restore(fromPolicy, asTheBackup)
	w.untilReady(r)
	assert.Equal(t, int64(999), *w.wrote().SecurityContext.RunAsUser)
}

// F-2: a privileged restore is root, whoever the backup ran as: as anybody else it could not give files away.
func TestAPrivilegedRestoreIsRootF2(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.update(ns, func() { ns.Annotations = map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"} })
	w.setStatus(w.Snapshot, func() {
		w.Snapshot.Status.Recorded = &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedInherited, UID: new(int64(10000))}
	})
	w.begin()
	r := w.restore(asTheBackup, func(s *kopiurv1.RestoreSpec) { s.Mover.PrivilegedMode = new(true) })
	w.untilReady(r)
	assert.Equal(t, kopiurv1.ReasonInheritOverridden, conditionOf(r, kopiurv1.ConditionSecurityContextInherited).Reason)
	assert.Equal(t, int64(0), *w.wrote().SecurityContext.RunAsUser)
	assert.Contains(t, w.wrote().SecurityContext.Capabilities.Add, corev1.Capability("CHOWN"))
}

// J-2: a workload at zero parks the restore with a name, and it starts when the workload does: as its user, on the node
// where it holds the claim.
func TestARestoreBesideItsApplicationJ2(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim("data")
	clock := w.NewTime()
	w.StartController(clock.Decisions)
	w.untilConnected(w.Repository)
	r := w.restore(into("data"), func(s *kopiurv1.RestoreSpec) {
		s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{
			WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
		}}
		s.FailurePolicy = &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(3600))}
	})
	w.until(r, kopiurv1.ConditionSecurityContextResolved, metav1.ConditionFalse, kopiurv1.ReasonInheritSourceMissing)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "no running pod matches app=db")
	assert.Empty(t, w.jobsOf(r))
	w.rests(r)

	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{
			NodeName:   "node-of-the-db",
			Containers: []corev1.Container{{Name: "db", Image: "db", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999))}}},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		},
	}
	w.Create(p)
	w.setStatus(p, func() { p.Status.Phase = corev1.PodRunning })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		clock.Step(10 * time.Second)
		w.GetC(c, r)
		assert.Equal(c, kopiurv1.RestoreCompleted, r.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, int64(999), *w.wrote().SecurityContext.RunAsUser)
	jobs := w.jobsOf(r)
	require.Len(t, jobs, 1)
	pod := jobs[0].Spec.Template.Spec
	require.NotNil(t, pod.Affinity)
	assert.Equal(t, []string{"node-of-the-db"}, pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values)
}
