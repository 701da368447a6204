// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication_test

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
)

// proving asks for a verification of the copy every noon.
func proving(l *lab) {
	l.repl.Spec.Verify = &kopiurv1.ReplicationVerify{Schedule: kopiurv1.CronSpec{Cron: "0 12 * * *"}, VerifyFilesPercent: 10}
}

func (l *lab) proofs() []testenv.Call { return l.CallsOf("verify") }

// verifying plays verifications of copies with play, and lets all other movers succeed.
func verifying(play func(testenv.Call) testenv.Play) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Verify == nil {
			return testenv.Succeed(c)
		}
		return play(c)
	}
}

// holding lets a mover succeed once hold is closed.
func holding(hold <-chan struct{}) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}
}

// copied asks for a copy and waits for it.
func (l *lab) copied() {
	l.t.Helper()
	l.ask()
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	l.settled()
}

// swept waits until no Job that verified is left.
func (l *lab) swept() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list batchv1.JobList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOperation: "verify"}))
		require.Empty(c, list.Items)
	}, testenv.Wait, testenv.Tick)
}

// TestACopyIsProven at its time, once there is one, by a mover that has the copy and nothing of the source but its password.
func TestACopyIsProven(t *testing.T) {
	t.Parallel()
	l := newLab(t, proving)
	l.Mover(copying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeRepositoryUnavailable, "the destination does not answer")
	}))
	l.ready()
	got := l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionUnknown, kopiurv1.ReasonVerificationPending)
	assert.Contains(t, got.Message, l.repl.Status.Verification.NextScheduledAt)
	l.clock.Step(26 * time.Hour)
	l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionUnknown, kopiurv1.ReasonWaitingForFirstCopy)
	assert.Empty(t, l.proofs(), "there is no copy yet")

	l.Mover(testenv.Succeed)
	l.ask()
	l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.swept()
	require.Len(t, l.proofs(), 1)
	spec := l.proofs()[0].Spec
	assert.Equal(t, "copy", spec.Repository.Backend.S3.Bucket)
	assert.True(t, spec.Repository.ReadOnly)
	assert.Equal(t, l.source.Status.UniqueID, spec.Repository.ExpectedUniqueID)
	assert.Equal(t, int64(10), spec.Operation.Verify.Quick.FilesPercent)
	assert.NotNil(t, spec.Operation.Verify.Deep)
	assert.Equal(t, int64(7), spec.Operation.Verify.MinBlobs, "as many as the copy left")
	st := l.repl.Status
	assert.NotEmpty(t, st.LastVerified)
	assert.Equal(t, kopiurv1.VerificationSucceeded, st.Verification.Outcome)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	l.Quiet(l.repl, time.Second)

	l.Change(l.repl, func() { l.repl.Spec.Verify = nil })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.Nil(c, l.repl.Status.Verification)
		require.Empty(c, testenv.Condition(l.repl.Status.Conditions, kopiurv1.ConditionVerified).Status)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, st.LastVerified, l.repl.Status.LastVerified, "when it was last proven stays true")
}

// TestADamagedCopy is said, and neither an outage nor the copies that go on make it look better.
func TestADamagedCopy(t *testing.T) {
	t.Parallel()
	l := newLab(t, proving)
	l.ready()
	l.copied()
	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeVerificationFailed, "3 files or folders of 2 snapshots are damaged")
	}))
	l.clock.Step(26 * time.Hour)
	got := l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)
	assert.Contains(t, got.Message, "3 files or folders of 2 snapshots are damaged")
	l.swept()
	assert.Empty(t, l.repl.Status.LastVerified)
	assert.Equal(t, int32(1), l.repl.Status.Verification.ConsecutiveFailures)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)

	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeRepositoryUnavailable, "the store does not answer")
	}))
	l.clock.Step(26 * time.Hour)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.GreaterOrEqual(c, l.repl.Status.Verification.ConsecutiveFailures, int32(2))
	}, testenv.Wait, testenv.Tick)
	l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)

	l.Mover(testenv.Succeed)
	l.clock.Step(26 * time.Hour)
	l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
	assert.Zero(t, l.repl.Status.Verification.ConsecutiveFailures)
	assert.NotEmpty(t, l.repl.Status.LastVerified)
}

// TestCopyAndProofNeverMeet: each waits for the other, also that of another replication to the same place.
func TestCopyAndProofNeverMeet(t *testing.T) {
	t.Parallel()
	l := newLab(t, proving)
	twin := replication("twin")
	l.Create(twin)
	hold := make(chan struct{})
	l.ready()
	l.copied()
	l.Mover(verifying(holding(hold)))
	l.clock.Step(26 * time.Hour)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.proofs(), 1) }, testenv.Wait, testenv.Tick)
	copies := len(l.copies())
	l.ask()
	got := l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVerification)
	assert.Contains(t, got.Message, "verifies the copy")
	l.Annotate(twin, kopiurv1.AnnotationRunRequested, l.clock.Now().UTC().Format(time.RFC3339))
	got = l.until(twin, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonReplicating)
	assert.Contains(t, got.Message, "is at work at the destination")
	assert.Len(t, l.copies(), copies)
	close(hold)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.settled()
	l.clock.Step(time.Minute)
	l.until(twin, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
}

// TestAPodThatOutlivesItsJob: somebody deletes the Job of a run. Its pod takes its time to end, and no other is started
// beside it.
func TestAPodThatOutlivesItsJob(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.Mover(copying(holding(hold)))
	l.ready()
	l.ask()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.copies(), 1) }, testenv.Wait, testenv.Tick)
	run := l.copies()[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Pod}}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.Equal(c, corev1.PodRunning, pod.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = []string{"test.kopiur/held"} })
	require.NoError(t, l.Client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Job}},
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		require.Contains(c, testenv.Condition(l.repl.Status.Conditions, kopiurv1.ConditionReady).Message, run.Pod)
	}, testenv.Wait, testenv.Tick)
	assert.Len(t, l.copies(), 1)

	close(hold)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, pod)
		require.NotNil(c, pod.DeletionTimestamp)
	}, testenv.Wait, testenv.Tick)
	l.Change(pod, func() { pod.Finalizers = nil })
	l.clock.Step(time.Minute)
	l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	l.settled()
	assert.Len(t, l.copies(), 2)
}

// TestAProofIsKilledAfterAnyWrite kills the controller after its first, second, … write of a verification: one mover, one
// outcome, and nothing that was restored stays.
func TestAProofIsKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, proving)
			first := l.ready()
			l.copied()
			first.Stop()
			l.clock.Step(26 * time.Hour)
			kill := l.KillAfter(n)
			second := l.StartController(l.clock.Decisions)
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			second.Stop()
			l.Spare()
			l.StartController(l.clock.Decisions)
			l.until(l.repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
			l.until(l.repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
			l.settled()
			l.swept()
			assert.Len(t, l.proofs(), 1, "killed after %v", kill.Writes())
			assert.Len(t, l.copies(), 2)
			assert.Zero(t, l.repl.Status.Verification.ConsecutiveFailures)
			l.Quiet(l.repl, 500*time.Millisecond)
		})
	}
}
