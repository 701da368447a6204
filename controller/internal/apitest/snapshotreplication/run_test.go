// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

const (
	first  = "2026-03-05T09:00:00Z"
	second = "2026-03-05T10:00:00Z"
	third  = "2026-03-05T11:00:00Z"
)

// TestCopiesHaveSnapshots: what a run copied has a Snapshot with its lineage, whoever asked for the run (I-6, H-3).
func TestCopiesHaveSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.ReplicationPending, st.Phase)
		require.NotEmpty(c, st.NextScheduledAt)
		require.Equal(c, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionReady).Status)
	})
	assert.Empty(t, l.CallsOf("migrate"), "a new one does not run at once (J-12)")

	st := l.run(first)
	assert.Equal(t, kopiurv1.ReplicationSucceeded, st.Phase)
	assert.Equal(t, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	assert.Equal(t, &kopiurv1.SnapshotReplicationRun{IdentitiesSelected: 1, SnapshotsCopied: 7}, st.LastRun)
	assert.NotEmpty(t, st.LastReplicated)
	assert.Equal(t, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionReady).Status)
	assert.Equal(t, metav1.ConditionFalse, testenv.Condition(st.Conditions, kopiurv1.ConditionIdentityOverlap).Status)
	rows := l.told(7)
	for i, s := range rows {
		assert.Equal(t, "s00"+strconv.Itoa(i+1), s.Status.CopiedFrom.SourceManifestID)
		assert.Equal(t, "cs00"+strconv.Itoa(i+1), s.Status.Snapshot.KopiaSnapshotID)
		assert.Equal(t, "nas", s.Status.CopiedFrom.Repository.Name)
		assert.Equal(t, "away", s.Status.Resolved.Repository.Name)
		assert.Equal(t, "offsite", s.Labels[kopiurv1.LabelSnapshotReplication])
		assert.Equal(t, kopiurv1.DeletionDelete, s.Spec.DeletionPolicy)
		assert.Empty(t, s.OwnerReferences)
	}
	l.Quiet(l.repl, time.Second)

	// The next night.
	w.add(1)
	l.clock.Step(24 * time.Hour)
	l.told(8)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Nil(c, st.Run)
		require.Equal(c, int64(1), st.LastRun.SnapshotsCopied)
		require.Equal(c, int64(7), st.LastRun.AlreadyPresent)
	})
	assert.Len(t, l.CallsOf("migrate"), 2)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, j := range l.jobs() {
			require.NotNil(c, j.Spec.TTLSecondsAfterFinished, "%s goes by itself", j.Name)
		}
	}, testenv.Wait, testenv.Tick)

	// The object goes, what it copied stays.
	require.NoError(t, l.Client.Delete(t.Context(), l.repl))
	l.Quiet(&l.copies()[0], 500*time.Millisecond)
	assert.Len(t, l.copies(), 8)
	assert.Equal(t, 8, w.stored())
}

// TestARunOfSeveralParts: more copies than one log tells of.
func TestARunOfSeveralParts(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	w.perPart = 4
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	st := l.run(first)
	l.told(10)
	assert.Equal(t, int64(10), st.LastRun.SnapshotsCopied)
	movers := l.CallsOf("migrate")
	require.Len(t, movers, 3)
	assert.Empty(t, movers[0].Spec.Operation.Migrate.Cursor)
	assert.NotEmpty(t, movers[2].Spec.Operation.Migrate.Cursor)
}

// TestProgress: what a mover says of its progress is in the status while it works (E-11).
func TestProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.hold = make(chan struct{})
	l := newLab(t, w)
	l.Mover(func(c testenv.Call) testenv.Play {
		p := w.play(c)
		if c.Spec.Operation.Migrate != nil {
			p.Log = append(p.Log, work.Event{Type: work.EventProgress, Time: time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC), Progress: &work.Progress{BytesProcessed: 7, BytesTotal: 20}})
		}
		return p
	})
	l.StartController(l.clock.Decisions)
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, first)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.ReplicationReplicating, st.Phase)
		require.NotNil(c, st.Progress)
		require.Equal(c, int64(7), st.Progress.BytesProcessed)
		require.Equal(c, kopiurv1.RunRunning, st.ManualRun.Phase)
	})
	close(w.hold)
	l.told(2)
}

// TestSuspended: nothing starts, a run that is asked for waits, and what is under way ends.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.hold = make(chan struct{})
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, first)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.ReplicationReplicating, st.Phase)
		require.Len(c, l.CallsOf("migrate"), 1)
	})
	l.Change(l.repl, func() { l.repl.Spec.Suspend = true })
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, second)
	close(w.hold)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.ReplicationSuspended, st.Phase)
		require.Equal(c, &kopiurv1.ManualRun{RequestedAt: second, Phase: kopiurv1.RunPending}, st.ManualRun)
		require.Equal(c, kopiurv1.ReasonSuspendedWithPendingRun, testenv.Condition(st.Conditions, kopiurv1.ConditionReady).Reason)
		require.Equal(c, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionSuspended).Status)
	})
	l.told(2)
	l.clock.Step(48 * time.Hour)
	l.Touch(l.repl)
	l.Quiet(l.repl, 500*time.Millisecond)
	assert.Len(t, l.CallsOf("migrate"), 1)
	l.Change(l.repl, func() { l.repl.Spec.Suspend = false })
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	})
}

// TestFailures: a failure that may pass is tried again by itself, one for good when what it failed by has changed.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.code = work.CodeRepositoryUnavailable
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	st := l.run(first)
	assert.Equal(t, kopiurv1.RunFailed, st.ManualRun.Phase)
	assert.Equal(t, kopiurv1.ReplicationFailed, st.Phase)
	assert.Equal(t, "RepositoryUnavailable", st.Failure.KopiaErrorClass)
	assert.Equal(t, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionReconciling).Status)
	w.set(func() { w.code = work.CodeAuthFailure })
	l.clock.Step(2 * time.Minute)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.NotNil(c, st.Failure)
		require.Equal(c, "AuthFailure", st.Failure.KopiaErrorClass)
		require.Equal(c, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionStalled).Status)
		require.Equal(c, int32(2), st.ConsecutiveFailures)
	})
	w.set(func() { w.code = "" })
	n := len(l.CallsOf("migrate"))
	l.Quiet(l.repl, 500*time.Millisecond)
	assert.Len(t, l.CallsOf("migrate"), n)
	var secret corev1.Secret
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: "password"}, &secret))
	secret.Data["KOPIA_PASSWORD"] = []byte("y")
	require.NoError(t, l.Client.Update(t.Context(), &secret))
	l.told(2)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Nil(c, st.Failure)
		require.Zero(c, st.ConsecutiveFailures)
	})
}

// TestCredentialsAreNotCopiedWhereTheRepositoryMayNotBeUsed: whoever can make replications in a namespace would else have
// the password of a repository whose owner has not let the namespace in, and all that it holds.
func TestCredentialsAreNotCopiedWhereTheRepositoryMayNotBeUsed(t *testing.T) {
	t.Parallel()
	l := newLab(t, newWorld(1))
	home := l.AddNamespace()
	password := testenv.Secret("shared", map[string]string{"KOPIA_PASSWORD": "x"})
	password.Namespace = home
	cluster := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + l.Namespace}}
	cluster.Spec.RepositorySpec = repositoryOf("shared", bucket("shared")).Spec
	cluster.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "shared", Namespace: home}
	cluster.Spec.AllowedNamespaces.List = []string{home}
	cluster.Spec.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: true}
	l.Create(password, cluster)
	l.Change(l.repl, func() {
		l.repl.Spec.SourceRef = kopiurv1.RepositoryRef{Name: cluster.Name, Kind: kopiurv1.KindClusterRepository}
		l.repl.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
	})
	l.StartController(l.clock.Decisions, func(o *setup.Options) { o.CredentialProjection = true })
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, first)
	copies := func() []corev1.Secret {
		var list corev1.SecretList
		require.NoError(t, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelComponent: kopiurv1.ComponentCredentials}))
		return list.Items
	}
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		creds := testenv.Condition(st.Conditions, kopiurv1.ConditionCredentialsAvailable)
		require.Equal(c, kopiurv1.ReasonBlockedOnGrant, creds.Reason)
		require.Contains(c, creds.Message, "spec.allowedNamespaces")
	})
	assert.Empty(t, copies())
	assert.Empty(t, l.CallsOf("migrate"))
	l.Change(cluster, func() { cluster.Spec.AllowedNamespaces.List = []string{l.Namespace} })
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.NotNil(c, st.ManualRun)
		require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	})
	assert.Len(t, copies(), 1)
}

// TestAMissingSecretIsWaitedFor, and its appearance is noticed at once (F-10).
func TestAMissingSecretIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	st := l.run(first)
	require.Equal(t, kopiurv1.ReplicationSucceeded, st.Phase)
	away := repositoryOf("away", kopiurv1.Backend{})
	away.Namespace = l.Namespace
	l.Get(away)
	l.Change(away, func() {
		away.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
	})
	// A run that is asked for before anybody has looked at the edit is made as things stood.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, away)
		ready := testenv.Condition(away.Status.Conditions, kopiurv1.ConditionReady)
		require.Equal(c, metav1.ConditionFalse, ready.Status, ready.Reason)
	}, testenv.Wait, testenv.Tick)
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, second)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		// The repository waits for the same Secret.
		require.Equal(c, kopiurv1.ReasonWaitingForDestinationRepository, testenv.Condition(st.Conditions, kopiurv1.ConditionReady).Reason)
	})
	l.Create(testenv.Secret("keys", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}))
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	})
	volumes := map[string]string{}
	for _, j := range l.jobs() {
		for _, v := range j.Spec.Template.Spec.Volumes {
			if v.Secret != nil {
				volumes[v.Name] = v.Secret.SecretName
			}
		}
	}
	assert.Equal(t, "keys", volumes["destination-auth"])
}

// TestRefusals: what one pod cannot work with is never started.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	l := newLab(t, w)
	identity := bucket("cloud")
	identity.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "default"}}
	keys := bucket("keys")
	keys.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "password"}}
	l.Create(repositoryOf("cloud", identity), repositoryOf("keys", keys))
	l.StartController(l.clock.Decisions)
	for name, refs := range map[string][2]string{"mixed": {"keys", "cloud"}, "itself": {"nas", "nas"}} {
		r := &kopiurv1.SnapshotReplication{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{kopiurv1.AnnotationRunRequested: first}}}
		r.Spec.SourceRef.Name, r.Spec.DestinationRef.Name, r.Spec.Schedule.Cron = refs[0], refs[1], "0 3 * * *"
		l.Create(r)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			l.GetC(c, r)
			stalled := testenv.Condition(r.Status.Conditions, kopiurv1.ConditionStalled)
			require.Equal(c, metav1.ConditionTrue, stalled.Status)
			require.Equal(c, kopiurv1.ReasonInvalidSpec, stalled.Reason)
			require.Contains(c, stalled.Message, "spec.destinationRef")
		}, testenv.Wait, testenv.Tick)
	}
	assert.Empty(t, l.CallsOf("migrate"))
}

// TestTwoRepositoriesOnClaims: both may have the same path of their own (J-11).
func TestTwoRepositoriesOnClaims(t *testing.T) {
	t.Parallel()
	on := func(claim string) kopiurv1.Backend {
		return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: claim}}}}
	}
	l := newLab(t, newWorld(1), func(r *kopiurv1.SnapshotReplication) {
		r.Spec.SourceRef.Name, r.Spec.DestinationRef.Name = "one", "two"
	})
	l.Create(testenv.Claim("one"), testenv.Claim("two"), repositoryOf("one", on("one")), repositoryOf("two", on("two")))
	l.StartController(l.clock.Decisions)
	l.run(first)
	require.Len(t, l.CallsOf("migrate"), 1)
	spec := l.CallsOf("migrate")[0].Spec
	assert.Equal(t, "/repository/source", spec.Repository.Backend.Filesystem.Path)
	assert.Equal(t, "/repository/destination", spec.Operation.Migrate.Destination.Backend.Filesystem.Path)
	paths := map[string]string{}
	for _, m := range l.jobs()[0].Spec.Template.Spec.Containers[0].VolumeMounts {
		paths[m.Name] = m.MountPath
	}
	assert.Equal(t, "/repository/source", paths["source-repository"])
	assert.Equal(t, "/repository/destination", paths["destination-repository"])
}

// TestKilledAfterAnyWrite kills the controller after its first, second, … write of a run. The next one finds what it did
// not live to record: one mover, a Snapshot for each copy, and what is to be deleted is deleted once.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 22
	for _, n := range testenv.KillPoints(most, 1, 2, 4, 9, 13) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(4)
			l := newLab(t, w, keep(3))
			one := l.StartController(l.clock.Decisions)
			l.run(first)
			l.told(3)
			one.Stop()

			w.add(2)
			l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, second)
			kill := l.KillAfter(n)
			two := l.StartController(l.clock.Decisions)
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			two.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController(l.clock.Decisions)
			l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
				require.NotNil(c, st.ManualRun)
				require.Equal(c, second, st.ManualRun.RequestedAt)
				require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
				require.Nil(c, st.Run)
			})
			rows := l.told(3)
			assert.Equal(t, "s006", rows[2].Status.CopiedFrom.SourceManifestID, "killed after %v", kill.Writes())
			assert.Len(t, l.CallsOf("migrate"), 2, "killed after %v", kill.Writes())
			require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, 3, w.stored()) }, testenv.Wait, testenv.Tick)
			for _, s := range rows {
				assert.Empty(t, s.OwnerReferences)
			}
		})
	}
}

// TestAPodThatOutlivesItsJob: somebody deletes the Job of a run. Its pod takes its time to end, and no other is started
// beside it.
func TestAPodThatOutlivesItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.hold = make(chan struct{})
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, first)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.CallsOf("migrate"), 1) }, testenv.Wait, testenv.Tick)
	run := l.CallsOf("migrate")[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Pod}}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.Equal(c, corev1.PodRunning, pod.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = []string{"test.kopiur/held"} })
	require.NoError(t, l.Client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Job}},
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Contains(c, testenv.Condition(st.Conditions, kopiurv1.ConditionReady).Message, run.Pod)
	})
	assert.Len(t, l.CallsOf("migrate"), 1)

	close(w.hold)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.NotNil(c, pod.DeletionTimestamp)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = nil })
	l.clock.Step(time.Minute)
	l.told(2)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Nil(c, st.Run)
		require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	})
	assert.Len(t, l.CallsOf("migrate"), 2)
}

// TestACacheThatIsKept has the indexes of both sides from run to run, and goes with the replication.
func TestACacheThatIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t, newWorld(2), func(r *kopiurv1.SnapshotReplication) {
		r.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent}}
	})
	l.StartController(l.clock.Decisions)
	l.run(first)
	claims := l.KeptCaches(l.repl)
	require.Len(t, claims, 1)
	assert.Regexp(t, "^kopiur-cache-offsite-[0-9a-f]{8}$", claims[0].Name)
	require.Len(t, l.CallsOf("migrate"), 1)
	assert.Equal(t, claims[0].Name, l.CacheOf(l.CallsOf("migrate")[0]))
}
