// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// onSnapshot plays snapshots and lets everything else succeed.
func (l *lab) onSnapshot(play func(c testenv.Call, n int32) testenv.Play) {
	var n atomic.Int32
	l.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Snapshot == nil {
			return testenv.Succeed(c)
		}
		return play(c, n.Add(1))
	})
}

// TestIncompleteSnapshot is stored and restorable, and is never Ready (K-4).
func TestIncompleteSnapshot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Code, p.Result.Message = work.CodePermissionDenied, "1 of 3 entries could not be read by uid 65532"
		p.Result.Snapshot.FilesFailed = 1
		p.Result.Snapshot.Unstored = &work.Unstored{Unreadable: 1, Paths: []work.EntryFault{{Path: "secret/key", Mode: "-rw-------", Reason: "permission denied"}}}
		return p
	})
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotIncompleteUnreadableEntries)
	l.settled()
	st := l.snapshot.Status
	assert.Equal(t, kopiurv1.SnapshotFailed, st.Phase)
	assert.Equal(t, metav1.ConditionFalse, condition(l.snapshot, kopiurv1.ConditionReady).Status)
	require.NotNil(t, st.Snapshot)
	assert.NotEmpty(t, st.Snapshot.KopiaSnapshotID)
	assert.Equal(t, string(work.CodePermissionDenied), st.Failure.KopiaErrorClass)
	assert.Equal(t, int32(20), *st.Failure.ExitCode)
	require.NotNil(t, st.Unstored)
	assert.Equal(t, []kopiurv1.EntryFault{{Path: "secret/key", Mode: "-rw-------", Reason: "permission denied"}}, st.Unstored.Paths)
	assert.Equal(t, metav1.ConditionFalse, condition(l.snapshot, kopiurv1.ConditionSecurityContextCompatible).Status)
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionSnapshotCreated).Status)

	// A final result is a record: a changed spec does not run it again.
	l.Change(l.snapshot, func() { l.snapshot.Spec.Description = "again" })
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, s.Generation, s.Status.ObservedGeneration)
	})
	l.atRest()
	assert.Len(t, l.runs(), 1)
}

// TestMissingKey: the mover names the key that a Secret lacks.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		return testenv.Fail(c, work.CodeMissingCredentials, "key KOPIA_PASSWORD is missing from the password Secret")
	})
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
	c := condition(l.snapshot, kopiurv1.ConditionCredentialsAvailable)
	assert.Equal(t, metav1.ConditionFalse, c.Status)
	assert.Equal(t, kopiurv1.ReasonMissingCredentialsSecret, c.Reason)
	assert.Contains(t, c.Message, "KOPIA_PASSWORD")
	assert.Nil(t, l.snapshot.Status.Snapshot)
}

// TestResultLost: the pod goes before its result is read; another mover finds what was stored by its request (D5).
func TestResultLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		p := testenv.Succeed(c)
		p.PodGone = n == 1
		p.Result.Snapshot.Found = n > 1
		return p
	})
	l.create()
	l.StartController()
	l.succeeds()
	assert.Equal(t, int32(2), l.snapshot.Status.Job.Attempts)
	runs := l.runs()
	require.Len(t, runs, 2)
	assert.NotEqual(t, runs[0].Job, runs[1].Job)
	assert.Equal(t, runs[0].Spec.RequestID, runs[1].Spec.RequestID, "the tag by which it is found again")
	assert.Equal(t, "k"+string(l.snapshot.UID), l.snapshot.Status.Snapshot.KopiaSnapshotID)
}

// TestResultLostForGood gives up after three Jobs instead of backing up for ever.
func TestResultLostForGood(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.PodGone = true
		return p
	})
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, string(work.CodeLost))
	assert.Len(t, l.runs(), 3)
	assert.Equal(t, string(work.CodeLost), l.snapshot.Status.Failure.KopiaErrorClass)
}

// TestJobDeletedByHand: its result was never read, so another mover asks the repository.
func TestJobDeletedByHand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		p := testenv.Succeed(c)
		if n == 1 {
			p.Hold = hold
		}
		return p
	})
	l.create()
	l.StartController()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
	})
	job := l.jobs()[0]
	require.NoError(t, l.Client.Delete(t.Context(), &job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	l.succeeds()
	assert.Equal(t, int32(2), l.snapshot.Status.Job.Attempts)
}

// TestRetryWithinTheJob: a failure that may pass is tried again by the Job, and only its end counts.
func TestRetryWithinTheJob(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		if n == 1 {
			return testenv.Fail(c, work.CodeRepositoryUnavailable, "the store does not answer")
		}
		return testenv.Succeed(c)
	})
	l.create()
	l.StartController()
	l.succeeds()
	assert.Len(t, l.jobs(), 1)
	assert.Len(t, l.runs(), 2)
	assert.Nil(t, l.snapshot.Status.Failure)
}

// TestUnchanged is a success that stored nothing (D-10).
func TestUnchanged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Snapshot.SnapshotID, p.Result.Snapshot.Unchanged = "", true
		return p
	})
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotUnchanged)
	assert.Equal(t, kopiurv1.SnapshotUnchanged, l.snapshot.Status.Phase)
	assert.Nil(t, l.snapshot.Status.Snapshot)
}

// skewed is the real clock and an offset that the test sets.
type skewed struct {
	clock.RealClock
	by atomic.Int64
}

func (c *skewed) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }

// TestWedgedPod is reaped, and the Snapshot fails with the pod's own reason. No mover ran, so a change reopens it.
func TestWedgedPod(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		if n == 1 {
			return testenv.Play{Stuck: "ErrImagePull"}
		}
		return testenv.Succeed(c)
	})
	now := &skewed{}
	l.SetClock(now)
	l.create()
	l.StartController(func(o *setup.Options) { o.ServerClock = now })
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Contains(c, condition(s, kopiurv1.ConditionReady).Message, "ErrImagePull", "what the pod waits for is told at once")
		assert.Equal(c, kopiurv1.ReasonMoverStarting, condition(s, kopiurv1.ConditionReady).Reason)
	})
	now.by.Store(int64(5 * time.Minute))
	l.Touch(l.snapshot)
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonMoverPodWedged)
	assert.Contains(t, c.Message, "ErrImagePull")
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, l.jobs(), "the Job is reaped") }, testenv.Wait, testenv.Tick)
	now.by.Store(0) // the API server's clock is the real one
	l.Change(l.snapshot, func() { l.snapshot.Spec.Description = "again" })
	l.succeeds()
	assert.Equal(t, int32(2), l.snapshot.Status.Job.Attempts)
}

func TestDeadlineKilled(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(testenv.Call, int32) testenv.Play { return testenv.Play{DeadlineKilled: true} })
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonDeadlineKilled)
	assert.Equal(t, kopiurv1.SnapshotFailed, l.snapshot.Status.Phase)
}

// TestJobNameTaken: a foreign Job of the derived name is not touched, and does not end the Snapshot.
func TestJobNameTaken(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.create()
	running := l.StartController()
	l.succeeds()
	running.Stop()
	job := l.jobs()[0]
	// The same name for a Snapshot of another UID cannot be had; a Job that lost its owner is as foreign.
	l.Get(l.snapshot)
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}, Spec: batchv1.JobSpec{Template: job.Spec.Template, BackoffLimit: job.Spec.BackoffLimit}}
	foreign.Spec.Template.Labels = nil
	require.NoError(t, l.Client.Delete(t.Context(), &job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var pods corev1.PodList
		require.NoError(c, l.Client.List(t.Context(), &pods, client.InNamespace(l.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}))
		require.Empty(c, pods.Items)
		assert.NoError(c, l.Client.Create(t.Context(), foreign.DeepCopy()))
	}, testenv.Wait, testenv.Tick)
	base := l.snapshot.DeepCopy()
	l.snapshot.Status = kopiurv1.SnapshotStatus{}
	require.NoError(t, l.Client.Status().Patch(t.Context(), l.snapshot, client.MergeFrom(base)))
	l.StartController()
	c := l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonJobNameTaken)
	assert.Contains(t, c.Message, job.Name)
	assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)
}

// TestProgress shows how far a running mover is, and its log once it is done.
func TestProgress(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	at := time.Now().UTC().Truncate(time.Second)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		p.Log = []work.Event{
			{Type: work.EventLog, Time: at, Level: "info", Message: "Connecting to the repository"},
			{Type: work.EventProgress, Time: at, Progress: &work.Progress{BytesProcessed: 512, FilesProcessed: 2, BytesTotal: 4096, FilesTotal: 3, BytesPerSecond: 100, ETASeconds: 36}},
		}
		return p
	})
	l.create()
	l.StartController()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		if assert.NotNil(c, s.Status.Progress) {
			assert.Equal(c, int64(512), s.Status.Progress.BytesProcessed)
			assert.Equal(c, int64(36), s.Status.Progress.ETASeconds)
		}
	})
	close(hold)
	l.succeeds()
	assert.Nil(t, l.snapshot.Status.Progress, "progress is of a running mover")
	assert.Contains(t, l.snapshot.Status.LogTail, "Connecting to the repository")
}

// TestDeletedWhileRunning: the stored data stays, and nobody holds the object back.
func TestDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hold := make(chan struct{})
	defer close(hold)
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	})
	l.create()
	l.StartController()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
	})
	require.NoError(t, l.Client.Delete(context.WithoutCancel(t.Context()), l.snapshot))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Error(c, l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.snapshot), l.snapshot.DeepCopy()))
	}, testenv.Wait, testenv.Tick)
}

// TestALateResultIsNotALostOne: the Job has ended and its pod is not in the cache. The result counts all the same, of a
// backup, of one that failed and of a pin; nothing runs twice.
func TestALateResultIsNotALostOne(t *testing.T) {
	t.Parallel()
	t.Run("stored and pinned", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.snapshot.Spec.Pin = true
		l.LatePods()
		l.create()
		l.StartController()
		l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) { assert.NotEmpty(c, s.UID) })
		l.isPinned(true, "k"+string(l.snapshot.UID)+"p")
		assert.Len(t, l.runs(), 1)
		assert.Len(t, l.pins(), 1)
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
			return testenv.Fail(c, work.CodeAuthFailure, "wrong password")
		})
		l.LatePods()
		l.create()
		l.StartController()
		l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
		assert.Equal(t, string(work.CodeAuthFailure), l.snapshot.Status.Failure.KopiaErrorClass)
		assert.Len(t, l.runs(), 1)
	})
}
