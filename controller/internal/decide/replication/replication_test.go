// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var (
	now     = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	slot    = "2026-03-05T05:00:00Z"
	next    = "2026-03-06T05:00:00Z"
	soon    = "2026-03-05T09:02:00Z"
	asked   = "2026-03-05T08:59:00Z"
	earlier = "2026-03-04T05:10:00Z"
)

type change = func(*replication.World)

// given is a replication at rest, of a source that is Ready.
func given(changes ...change) replication.World {
	r := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "apps", UID: "u", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-48 * time.Hour))}}
	r.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "nas"}
	r.Spec.Destination.S3 = &kopiurv1.S3Backend{Bucket: "copy", Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "copy"}}}
	r.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 * * *"}
	r.Status.NextScheduledAt, r.Status.Schedule = next, "0 5 * * * UTC"
	r.Status.ObservedGeneration, r.Status.ResolvedCredentialVersion = 1, "7"
	source := &moverjob.Repository{Ref: kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps", Kind: kopiurv1.KindRepository}, UID: "r", HomeNamespace: "apps"}
	source.Spec.Backend.Filesystem = &kopiurv1.FilesystemBackend{Path: "/repo", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "disk"}}}
	source.Spec.Encryption.PasswordSecretRef.Name = "password"
	source.Status.Phase, source.Status.UniqueID = kopiurv1.RepositoryReady, "id"
	w := replication.World{Replication: r, Source: source, CredentialVersion: "7"}
	for _, f := range changes {
		f(&w)
	}
	return w
}

func due(w *replication.World)     { w.Replication.Status.NextScheduledAt = slot }
func suspend(w *replication.World) { w.Replication.Spec.Suspend = true }
func request(w *replication.World) {
	w.Replication.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: asked}
}
func copied(w *replication.World) { w.Replication.Status.LastReplicated = earlier }

func failedBefore(retry bool) change {
	return func(w *replication.World) {
		w.Replication.Status.Phase, w.Replication.Status.ConsecutiveFailures = kopiurv1.ReplicationFailed, 1
		w.Replication.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: "AuthFailure", Message: "the key is wrong", RetryRecommended: retry}
	}
}

func degraded(reason string) change {
	return func(w *replication.World) {
		w.Source.Status.Phase = kopiurv1.RepositoryDegraded
		w.Source.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
	}
}

func closed(condition, reason string) change {
	return func(w *replication.World) {
		w.Gates = append(w.Gates, replication.Gate{Condition: condition, Verdict: gates.Verdict{Reason: reason, Message: "why"}})
	}
}

// TestWhenACopyStarts: at its time or when somebody asks, and never behind a closed gate.
func TestWhenACopyStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		world   replication.World
		start   bool
		phase   kopiurv1.ReplicationPhase
		verdict replication.Verdict
		reason  string
	}{
		"a new one waits for its first time": {
			given(func(w *replication.World) { w.Replication.Status = kopiurv1.RepositoryReplicationStatus{} }),
			false, kopiurv1.ReplicationPending, replication.Ready, kopiurv1.ReasonReplicationScheduled,
		},
		"before its time it rests":               {given(copied), false, kopiurv1.ReplicationSucceeded, replication.Ready, kopiurv1.ReasonReplicated},
		"at its time it copies":                  {given(due), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"asked for, it copies at once":           {given(request), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"suspended, it does not":                 {given(due, suspend, copied), false, kopiurv1.ReplicationSuspended, replication.Ready, kopiurv1.ReasonReplicated},
		"suspended, it does not when asked":      {given(request, suspend), false, kopiurv1.ReplicationSuspended, replication.Ready, kopiurv1.ReasonReplicationScheduled},
		"a source that does not exist is waited": {given(due, func(w *replication.World) { w.Source = nil }), false, kopiurv1.ReplicationPending, replication.Progressing, kopiurv1.ReasonWaitingForSourceRepository},
		"a source that is out of reach too":      {given(due, degraded(kopiurv1.ReasonBackendUnreachable)), false, kopiurv1.ReplicationPending, replication.Progressing, kopiurv1.ReasonWaitingForSourceRepository},
		"slow is not down (C-3)":                 {given(due, degraded(kopiurv1.ReasonProbeDeadlineExceeded)), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"a source that is only read will do":     {given(due, func(w *replication.World) { w.Source.Spec.Mode = kopiurv1.ModeReadOnly }), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"a missing Secret is named (F-10)": {
			given(due, closed(kopiurv1.ConditionCredentialsAvailable, kopiurv1.ReasonMissingCredentialsSecret)),
			false, kopiurv1.ReplicationPending, replication.Progressing, kopiurv1.ReasonMissingCredentialsSecret,
		},
		"a full repository is waited for": {
			given(due, closed(kopiurv1.ConditionRepositorySlotAvailable, kopiurv1.ReasonWaitingForSlot)),
			false, kopiurv1.ReplicationPending, replication.Progressing, kopiurv1.ReasonWaitingForSlot,
		},
		"what failed for good rests":         {given(failedBefore(false)), false, kopiurv1.ReplicationFailed, replication.Stalled, kopiurv1.ReasonReplicationFailed},
		"until a Secret changes":             {given(failedBefore(false), func(w *replication.World) { w.CredentialVersion = "8" }), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"or the spec":                        {given(failedBefore(false), func(w *replication.World) { w.Replication.Generation = 2 }), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"a failure that may pass is no end":  {given(failedBefore(true)), false, kopiurv1.ReplicationFailed, replication.Progressing, kopiurv1.ReasonReplicationFailed},
		"the place of the source is refused": {given(due, func(w *replication.World) { w.Source.Spec.Backend = w.Replication.Spec.Destination }), false, kopiurv1.ReplicationFailed, replication.Stalled, kopiurv1.ReasonInvalidSpec},
		"key and workload identity of one cloud do not mix": {given(due, func(w *replication.World) {
			w.Source.Spec.Backend = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b", Auth: &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "sa"}}}}
		}), false, kopiurv1.ReplicationFailed, replication.Stalled, kopiurv1.ReasonInvalidSpec},
		"two sources in one place overwrite each other: the elder goes on": {given(due, other(-72*time.Hour)), false, kopiurv1.ReplicationFailed, replication.Stalled, kopiurv1.ReasonInvalidSpec},
		"of which this is the one":       {given(due, other(-time.Hour)), true, kopiurv1.ReplicationReplicating, replication.Progressing, kopiurv1.ReasonReplicating},
		"a schedule that cannot be read": {given(due, func(w *replication.World) { w.Replication.Spec.Schedule.Cron = "@daily" }), false, kopiurv1.ReplicationFailed, replication.Stalled, kopiurv1.ReasonInvalidSpec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := replication.Decide(tc.world, now)
			assert.Equal(t, tc.reason, p.Reason, p.Message)
			assert.Equal(t, tc.verdict, p.Verdict)
			assert.Equal(t, tc.phase, p.Status.Phase)
			assert.Equal(t, tc.start, p.Start != nil)
			assert.Equal(t, tc.start, p.Status.Job != nil)
			assert.NotEmpty(t, p.Message)
		})
	}
}

// other is another source's replication to the same place.
func other(age time.Duration) change {
	return func(w *replication.World) {
		o := *w.Replication.DeepCopy()
		o.Name, o.UID, o.CreationTimestamp = "other", "o", metav1.NewTime(now.Add(age))
		o.Spec.SourceRef.Name = "tape"
		w.Others = []kopiurv1.RepositoryReplication{o, *w.Replication}
	}
}

func job(manual bool, o moverjob.Outcome) change {
	return func(w *replication.World) {
		w.Turn = replication.Turn{At: slot}
		if manual {
			w.Turn = replication.Turn{At: asked, Manual: true}
		}
		w.Job, w.Outcome = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: replication.JobName(w.Replication, w.Turn)}}, o
	}
}

func ended(code work.Code, r *work.ReplicateResult) moverjob.Outcome {
	return moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Operation: "replicate", Code: code, Message: "the mover's words", Replicate: r, EndTime: now.Add(-time.Minute)}}
}

func result() *work.ReplicateResult {
	return &work.ReplicateResult{BlobsTotal: 9, BytesTotal: 90, BlobsCopied: 4, BytesCopied: 40, BlobsExtra: 2}
}

func TestASuccessIsRecorded(t *testing.T) {
	t.Parallel()
	p := replication.Decide(given(due, failedBefore(true), job(false, ended(work.CodeOK, result()))), now)
	require.True(t, p.Recorded)
	assert.True(t, p.Succeeded)
	assert.Equal(t, replication.Ready, p.Verdict)
	assert.Equal(t, kopiurv1.ReasonReplicated, p.Reason)
	assert.Contains(t, p.Message, "4 blobs, 40 bytes, were copied, and the destination holds all 9 and 2 that the source has no more")
	st := p.Status
	assert.Equal(t, kopiurv1.ReplicationSucceeded, st.Phase)
	assert.Equal(t, "2026-03-05T08:59:00Z", st.LastReplicated)
	assert.Equal(t, int64(4), *st.LastReplicatedBlobs)
	assert.Equal(t, int64(40), *st.LastReplicatedBytes)
	assert.Equal(t, next, st.NextScheduledAt)
	assert.Equal(t, "s3", st.DestinationBackend)
	assert.Nil(t, st.Failure)
	assert.Zero(t, st.ConsecutiveFailures)
	assert.Nil(t, st.Job)

	later := given(func(w *replication.World) { w.Replication.Status = p.Status })
	again := replication.Decide(later, now.Add(time.Minute))
	assert.Equal(t, p.Status, again.Status, "and nothing changes until the next turn")
	assert.Equal(t, p.Message, again.Message)
}

// I-6: TestAManualRunEnds in the status, whatever became of it, and the schedule begins anew behind it.
func TestAManualRunEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome moverjob.Outcome
		phase   kopiurv1.RunPhase
	}{
		"succeeded":          {ended(work.CodeOK, result()), kopiurv1.RunSucceeded},
		"failed":             {ended(work.CodeRepositoryUnavailable, nil), kopiurv1.RunFailed},
		"that never started": {moverjob.Outcome{State: moverjob.Wedged}, kopiurv1.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := replication.Decide(given(request, job(true, tc.outcome)), now)
			require.True(t, p.Recorded)
			assert.Equal(t, tc.phase, p.Status.ManualRun.Phase)
			assert.Equal(t, asked, p.Status.ManualRun.RequestedAt)
			assert.NotEmpty(t, p.Status.ManualRun.CompletedAt)
			done := given(request, func(w *replication.World) { w.Replication.Status = p.Status })
			assert.Nil(t, replication.Decide(done, now).Start, "what was asked for once is done once")
		})
	}
	p := replication.Decide(given(request, suspend), now)
	assert.Equal(t, kopiurv1.RunPending, p.Status.ManualRun.Phase)
	assert.Equal(t, kopiurv1.ReasonSuspendedWithPendingRun, p.Conditions[len(p.Conditions)-1].Reason)
	bad := given(func(w *replication.World) {
		w.Replication.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: "now"}
	})
	p = replication.Decide(bad, now)
	assert.Nil(t, p.Start)
	require.Len(t, p.Conditions, 1)
	assert.Equal(t, kopiurv1.ReasonInvalidRunRequest, p.Conditions[0].Reason)
}

// TestFailures: what may pass is tried again soon, and what does not waits for somebody, or the next turn.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome moverjob.Outcome
		before  int32
		verdict replication.Verdict
		class   string
		next    string
	}{
		"an outage is tried again soon":         {ended(work.CodeRepositoryUnavailable, nil), 0, replication.Progressing, "RepositoryUnavailable", soon},
		"and less and less often":               {ended(work.CodeRepositoryUnavailable, nil), 4, replication.Progressing, "RepositoryUnavailable", "2026-03-05T09:30:00Z"},
		"time that was up goes on":              {moverjob.Outcome{State: moverjob.DeadlineKilled}, 0, replication.Progressing, kopiurv1.ReasonDeadlineKilled, soon},
		"a lost result is made up for":          {moverjob.Outcome{State: moverjob.ResultLost}, 0, replication.Progressing, "Lost", soon},
		"a wrong key waits for another":         {ended(work.CodeAuthFailure, nil), 0, replication.Stalled, "AuthFailure", next},
		"a source that has lost data is told":   {ended(work.CodeVerificationFailed, result()), 0, replication.Stalled, "VerificationFailed", next},
		"a mover that says nothing of its work": {ended(work.CodeOK, nil), 0, replication.Progressing, "Unknown", soon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := given(due, copied, job(false, tc.outcome))
			w.Replication.Status.ConsecutiveFailures = tc.before
			p := replication.Decide(w, now)
			require.True(t, p.Recorded)
			assert.False(t, p.Succeeded)
			assert.Equal(t, tc.verdict, p.Verdict)
			assert.Equal(t, kopiurv1.ReasonReplicationFailed, p.Reason)
			assert.Equal(t, tc.class, p.Status.Failure.KopiaErrorClass)
			assert.Equal(t, tc.before+1, p.Status.ConsecutiveFailures)
			assert.Equal(t, tc.next, p.Status.NextScheduledAt)
			assert.Equal(t, earlier, p.Status.LastReplicated, "a failure takes nothing away")
			assert.Contains(t, p.Message, earlier)
		})
	}
	p := replication.Decide(given(due, job(false, moverjob.Outcome{State: moverjob.NodeLost, Message: "node a"})), now)
	assert.False(t, p.Recorded, "behind a lost node a mover may still be at work")
	assert.Nil(t, p.Start)
	assert.Equal(t, kopiurv1.ReasonNodeLost, p.Reason)
}

// TestWhatIsUnderWay is followed to its end, whatever is edited meanwhile.
func TestWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	running := moverjob.Outcome{State: moverjob.Running, Attempts: 2}
	w := given(due, suspend, job(false, running))
	w.Tail.Progress = &work.Progress{BytesProcessed: 5, BytesTotal: 10, FilesProcessed: 1, FilesTotal: 2, BytesPerSecond: 1, ETASeconds: 5}
	p := replication.Decide(w, now)
	assert.Equal(t, kopiurv1.ReplicationReplicating, p.Status.Phase)
	assert.Equal(t, int64(5), p.Status.Progress.BytesProcessed)
	assert.Equal(t, int64(5), p.Status.Progress.ETASeconds)
	assert.Equal(t, int32(2), p.Status.Job.Attempts)
	assert.Equal(t, work.ProgressInterval(0), p.After)
	assert.True(t, replication.ProgressDue(w, now))
	w.Replication.Status.Progress = &kopiurv1.Progress{UpdatedAt: now.Format(time.RFC3339)}
	assert.False(t, replication.ProgressDue(w, now.Add(time.Second)))

	edited := given(job(false, ended(work.CodeOK, result())), func(w *replication.World) { w.Replication.Spec.Schedule.Cron = "@daily" })
	p = replication.Decide(edited, now)
	assert.True(t, p.Recorded, "what was copied counts")
	assert.Empty(t, p.Status.NextScheduledAt)

	for name, turn := range map[string]replication.Turn{"of the schedule": {At: slot}, "that was asked for": {At: asked, Manual: true}} {
		w := given()
		made, err := replication.Build(w, turn, moverjob.Images{Mover: "mover"}, "")
		require.NoError(t, err)
		_, found := replication.TurnOf(w.Replication, made, now)
		assert.False(t, found, "%s: its outcome is recorded", name)
		w.Replication.Status.Job = &kopiurv1.JobStatus{Name: made.Name}
		got, found := replication.TurnOf(w.Replication, made, now)
		assert.True(t, found)
		assert.Equal(t, turn, got)
	}
}
