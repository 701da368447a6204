// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replication_test drives RepositoryReplications against a real API server.
package replication_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's namespace with a source that is Ready, and a replication of it.
type lab struct {
	*testenv.Env

	t      *testing.T
	clock  *testenv.Time
	source *kopiurv1.Repository
	repl   *kopiurv1.RepositoryReplication
}

func newLab(t *testing.T, changes ...func(*lab)) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t}
	l.clock = l.NewTime()
	l.source = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}}
	l.source.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "backups"}
	l.source.Spec.Encryption.PasswordSecretRef.Name = "password"
	l.repl = replication("offsite")
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Secret("copy", map[string]string{"AWS_ACCESS_KEY_ID": "x"}))
	for _, f := range changes {
		f(l)
	}
	l.Create(l.source, l.repl)
	return l
}

func replication(name string) *kopiurv1.RepositoryReplication {
	r := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "nas"}
	r.Spec.Destination.S3 = &kopiurv1.S3Backend{Bucket: "copy", Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "copy"}}}
	r.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 * * *"}
	return r
}

// until waits for a condition of a replication.
func (l *lab) until(r *kopiurv1.RepositoryReplication, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, r)
		got = testenv.Condition(r.Status.Conditions, kind)
		require.Equal(c, status, got.Status, "%+v", r.Status)
		require.Equal(c, reason, got.Reason, got.Message)
	}, testenv.Wait, testenv.Tick)
	return got
}

// ready starts a controller and waits until the replication rests.
func (l *lab) ready() *testenv.Controller {
	l.t.Helper()
	c := l.StartController(l.clock.Decisions)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.source)
		require.Equal(c, kopiurv1.RepositoryReady, l.source.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicationScheduled)
	return c
}

func (l *lab) copies() []testenv.Call { return l.CallsOf("replicate") }

// stands is why a replication is Ready, or is not.
func (l *lab) stands(r *kopiurv1.RepositoryReplication) string {
	l.t.Helper()
	l.Get(r)
	return testenv.Condition(r.Status.Conditions, kopiurv1.ConditionReady).Reason
}

func (l *lab) ask() {
	l.t.Helper()
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, l.clock.Now().UTC().Format(time.RFC3339))
}

// settled waits until no run is under way and the Jobs go by themselves.
func (l *lab) settled() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list batchv1.JobList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOperation: "replicate"}))
		for i := range list.Items {
			require.NotNil(c, list.Items[i].Spec.TTLSecondsAfterFinished)
		}
	}, testenv.Wait, testenv.Tick)
}

// copying plays copies with play, and lets all other movers succeed.
func copying(play func(testenv.Call) testenv.Play) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Replicate == nil {
			return testenv.Succeed(c)
		}
		return play(c)
	}
}

// F-10: TestACopyIsMade at its time, by a mover that has the credentials of both sides, and the object that asked for it
// takes nothing with it when it goes.
func TestACopyIsMade(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(l *lab) {
		l.repl.Spec.Sync = &kopiurv1.BlobSync{Parallel: new(int32(16)), MaxUploadSpeedBytesPerSecond: 1 << 20}
	})
	l.ready()
	assert.Empty(t, l.copies(), "a new one waits for its time")
	l.Quiet(l.repl, time.Second)
	l.clock.Step(26 * time.Hour)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	l.settled()
	require.Len(t, l.copies(), 1)
	spec := l.copies()[0].Spec
	assert.Equal(t, "backups", spec.Repository.Backend.S3.Bucket)
	assert.Equal(t, "copy", spec.Operation.Replicate.Destination.S3.Bucket)
	assert.Equal(t, 16, spec.Operation.Replicate.Parallel)
	assert.Equal(t, int64(1<<20), spec.Operation.Replicate.Throttle.UploadBytesPerSecond)
	st := l.repl.Status
	assert.Equal(t, kopiurv1.ReplicationSucceeded, st.Phase)
	assert.Equal(t, "s3", st.DestinationBackend)
	assert.Equal(t, int64(5), *st.LastReplicatedBlobs)
	assert.Equal(t, int64(5<<20), *st.LastReplicatedBytes)
	assert.NotEmpty(t, st.LastReplicated)
	assert.NotEmpty(t, st.NextScheduledAt)
	l.Quiet(l.repl, time.Second)

	require.NoError(t, l.Client.Delete(t.Context(), l.repl))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var list kopiurv1.RepositoryReplicationList
		require.NoError(c, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace)))
		require.Empty(c, list.Items, "nothing holds it back")
	}, testenv.Wait, testenv.Tick)
	assert.Len(t, l.copies(), 1)
	for _, c := range l.Calls() {
		assert.Nil(t, c.Spec.Operation.Delete, "and no mover deletes what was copied")
	}
}

// I-6: TestACopyThatIsAskedFor runs at once, shows how far it is, and ends in the status; a second request waits for the
// first.
func TestACopyThatIsAskedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.Mover(copying(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}))
	l.ready()
	l.ask()
	got := l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonReplicating)
	assert.Contains(t, got.Message, "copying Repository "+l.Namespace+"/nas")
	assert.Equal(t, kopiurv1.ReplicationReplicating, l.repl.Status.Phase)
	assert.Equal(t, metav1.ConditionTrue, testenv.Condition(l.repl.Status.Conditions, kopiurv1.ConditionReconciling).Status)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.Equal(c, kopiurv1.RunRunning, l.repl.Status.ManualRun.Phase)
	}, testenv.Wait, testenv.Tick)
	first := l.repl.Status.ManualRun.RequestedAt
	close(hold)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.Equal(c, kopiurv1.RunSucceeded, l.repl.Status.ManualRun.Phase)
	}, testenv.Wait, testenv.Tick)
	assert.NotEmpty(t, l.repl.Status.ManualRun.CompletedAt)
	l.settled()
	assert.Len(t, l.copies(), 1)

	l.clock.Step(time.Second)
	l.ask()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.NotEqual(c, first, l.repl.Status.ManualRun.RequestedAt)
		require.Equal(c, kopiurv1.RunSucceeded, l.repl.Status.ManualRun.Phase)
	}, testenv.Wait, testenv.Tick)
	assert.Len(t, l.copies(), 2, "another time asks for another run")
}

// J-11: TestTwoVolumes: two repositories on volumes with the same path are mounted at paths of our own.
func TestTwoVolumes(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(l *lab) {
		on := func(claim string) kopiurv1.Backend {
			return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: claim}}}}
		}
		l.Create(testenv.Claim("disk"))
		l.source.Spec.Backend = on("disk")
		l.repl.Spec.Destination = on("usb")
	})
	l.ready()
	l.ask()
	got := l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryVolumeNotReachable)
	assert.Contains(t, got.Message, "usb")
	assert.Empty(t, l.copies())
	l.Create(testenv.Claim("usb"))
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	require.Len(t, l.copies(), 1)
	spec := l.copies()[0].Spec
	assert.Equal(t, work.SourceRepositoryDir, spec.Repository.Backend.Filesystem.Path)
	assert.Equal(t, work.DestinationRepositoryDir, spec.Operation.Replicate.Destination.Filesystem.Path)
}

// TestWhatIsMissing is named, and its arrival is enough; a wrong key waits for another one and for nothing else.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(l *lab) { l.repl.Spec.Destination.S3.Auth.SecretRef.Name = "late" })
	l.Mover(copying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeAuthFailure, "the destination refuses the key")
	}))
	l.ready()
	l.ask()
	got := l.until(l.repl, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, got.Message, "Secret "+l.Namespace+"/late")
	assert.Contains(t, got.Message, "RepositoryReplication "+l.Namespace+"/offsite")
	assert.Empty(t, l.copies())
	late := testenv.Secret("late", map[string]string{"AWS_ACCESS_KEY_ID": "wrong"})
	l.Create(late)
	l.until(l.repl, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonReplicationFailed)
	assert.Equal(t, kopiurv1.ReplicationFailed, l.repl.Status.Phase)
	assert.Equal(t, "AuthFailure", l.repl.Status.Failure.KopiaErrorClass)
	assert.Equal(t, kopiurv1.RunFailed, l.repl.Status.ManualRun.Phase)
	l.settled()
	l.Quiet(l.repl, time.Second)
	assert.Len(t, l.copies(), 1)

	l.Mover(testenv.Succeed)
	l.Change(late, func() { late.StringData = map[string]string{"AWS_ACCESS_KEY_ID": "right"} })
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	assert.Nil(t, l.repl.Status.Failure)
}

// TestAFailureThatMayPass is tried again; what was there before stays told.
func TestAFailureThatMayPass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Mover(copying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeRepositoryUnavailable, "the destination does not answer")
	}))
	l.ready()
	l.ask()
	got := l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonReplicationFailed)
	assert.Contains(t, got.Message, "there is no complete copy yet")
	assert.Equal(t, metav1.ConditionFalse, testenv.Condition(l.repl.Status.Conditions, kopiurv1.ConditionStalled).Status)
	assert.Equal(t, int32(1), l.repl.Status.ConsecutiveFailures)
	l.settled()
	l.Mover(testenv.Succeed)
	l.clock.Step(3 * time.Minute)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	assert.Zero(t, l.repl.Status.ConsecutiveFailures)
}

// TestWhatIsRefused: places that would be overwritten, and credentials that do not mix; a suspended one does nothing.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ready()
	onto := replication("onto")
	onto.Spec.Destination = l.source.Spec.Backend
	mixed := replication("mixed")
	mixed.Spec.Destination.S3.Bucket = "mixed"
	one, two := replication("one"), replication("two")
	one.Spec.Destination.S3.Bucket, two.Spec.Destination.S3.Bucket = "both", "both"
	two.Spec.SourceRef.Name = "tape"
	wi := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "cloud"}}
	wi.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "cloud", Auth: &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "sa"}}}
	wi.Spec.Encryption.PasswordSecretRef.Name = "password"
	mixed.Spec.SourceRef.Name = "cloud"
	l.Create(wi, onto, mixed, one)
	l.Create(two)
	if c := two.CreationTimestamp.Compare(one.CreationTimestamp.Time); c == 0 && two.UID < one.UID {
		one, two = two, one // both of one second
	}
	for r, want := range map[*kopiurv1.RepositoryReplication]string{
		onto: "it is where", mixed: "spec.destination", two: "each would overwrite the other's copy",
	} {
		got := l.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSpec)
		assert.Contains(t, got.Message, want)
		assert.Equal(t, kopiurv1.ReplicationFailed, r.Status.Phase)
	}
	assert.NotEqual(t, kopiurv1.ReasonInvalidSpec, l.stands(one), "the elder one goes on")
	l.Change(l.repl, func() { l.repl.Spec.Suspend = true })
	l.until(l.repl, kopiurv1.ConditionSuspended, metav1.ConditionTrue, kopiurv1.ReasonSuspended)
	assert.Equal(t, kopiurv1.ReplicationSuspended, l.repl.Status.Phase)
	l.ask()
	l.until(l.repl, kopiurv1.ConditionRunRequested, metav1.ConditionFalse, kopiurv1.ReasonSuspendedWithPendingRun)
	assert.Empty(t, l.copies())
	l.Change(l.repl, func() { l.repl.Spec.Suspend = false })
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	assert.Equal(t, kopiurv1.RunSucceeded, l.repl.Status.ManualRun.Phase)
	assert.Len(t, l.copies(), 1)
}

// TestTwoToOnePlace: the younger one is refused as soon as there is an elder one, and goes on as soon as there is none.
// Neither would be looked at again for half an hour.
func TestTwoToOnePlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ready()
	elder, younger := replication("one"), replication("two")
	elder.Spec.Destination.S3.Bucket, younger.Spec.Destination.S3.Bucket = "both", "both"
	younger.Spec.SourceRef.Name = "tape"
	l.Create(elder)
	l.until(elder, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicationScheduled)
	l.Create(younger)
	if c := younger.CreationTimestamp.Compare(elder.CreationTimestamp.Time); c == 0 && younger.UID < elder.UID {
		elder, younger = younger, elder // both of one second
	}
	refused := func() {
		t.Helper()
		l.until(younger, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSpec)
		l.until(elder, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicationScheduled)
	}
	goesOn := func() {
		t.Helper()
		l.until(younger, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicationScheduled)
	}
	refused()
	l.Change(elder, func() { elder.Spec.Destination.S3.Bucket = "elsewhere" })
	goesOn()
	l.Change(elder, func() { elder.Spec.Destination.S3.Bucket = "both" })
	refused()
	require.NoError(t, l.Client.Delete(t.Context(), elder))
	goesOn()
}

// TestKilledAfterAnyWrite kills the controller after its first, second, … write of a run. The next one finds what the first
// did not live to learn: one mover, one outcome.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 7
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			first := l.ready()
			first.Stop()
			l.ask()
			kill := l.KillAfter(n)
			second := l.StartController(l.clock.Decisions)
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			second.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController(l.clock.Decisions)
			l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
			l.settled()
			assert.Len(t, l.copies(), 1, "killed after %v", kill.Writes())
			assert.Equal(t, kopiurv1.RunSucceeded, l.repl.Status.ManualRun.Phase)
			l.Quiet(l.repl, 500*time.Millisecond)
		})
	}
}
