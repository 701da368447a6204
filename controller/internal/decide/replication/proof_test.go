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
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	proofSlot = "2026-03-05T07:00:00Z"
	proofNext = "2026-03-06T07:00:00Z"
)

// proven is a replication with a copy whose verification is due.
func proven(changes ...change) replication.World {
	return given(append([]change{copied, func(w *replication.World) {
		w.Replication.Spec.Verify = &kopiurv1.ReplicationVerify{Schedule: kopiurv1.CronSpec{Cron: "0 7 * * *"}, VerifyFilesPercent: 10}
		w.Replication.Status.Verification = &kopiurv1.VerificationState{NextScheduledAt: proofSlot, Schedule: "0 7 * * * UTC"}
		w.Replication.Status.LastVerified = earlier
	}}, changes...)...)
}

func pinnedProof(at string) change {
	return func(w *replication.World) { w.Replication.Status.Verification.NextScheduledAt = at }
}

func proofWas(o kopiurv1.VerificationOutcome) change {
	return func(w *replication.World) {
		v := w.Replication.Status.Verification
		v.Outcome, v.Reason, v.Message, v.ConsecutiveFailures = o, "Before", "before", 2
	}
}

func proofJob(o moverjob.Outcome) change {
	return func(w *replication.World) {
		w.Proof.Job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "b-offsite-1"}}
		w.Proof.Outcome, w.Proof.Tail = o, moverjob.Tail{Text: "the mover's log"}
	}
}

func copying(w *replication.World) {
	w.Job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "b-offsite-2"}}
	w.Outcome = moverjob.Outcome{State: moverjob.Running}
}

func answer(code work.Code) change {
	return proofJob(moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{
		Code: code, Message: "the mover's words", EndTime: now.Add(-time.Minute),
		Verify: &work.VerifyResult{Snapshots: 2, Files: 10, FilesRead: 1, Restored: &work.VerifiedRestore{Files: 3, Bytes: 30, ChecksumMatches: true}},
	}})
}

// TestWhenAProofStarts: at its time, once there is a copy, and never beside one that is being made.
func TestWhenAProofStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		world  replication.World
		start  bool
		reason string
		next   string
	}{
		"at its time it starts":              {proven(), true, "", proofSlot},
		"before its time it rests":           {proven(pinnedProof(proofNext)), false, "", proofNext},
		"a new one waits for its first time": {proven(func(w *replication.World) { w.Replication.Status.Verification = nil }), false, "", proofNext},
		"one that was missed for a month starts once": {
			proven(pinnedProof("2026-02-05T07:00:00Z")), true, "", "2026-02-05T07:00:00Z",
		},
		"an edited schedule begins anew": {
			proven(func(w *replication.World) { w.Replication.Status.Verification.Schedule = "0 6 * * * UTC" }), false, "", proofNext,
		},
		"the source's time zone holds for it": {proven(func(w *replication.World) {
			w.Source.Spec.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: "Europe/Berlin"}
		}), false, "", "2026-03-06T06:00:00Z"},
		"without a copy there is nothing to prove": {
			proven(func(w *replication.World) { w.Replication.Status.LastReplicated = "" }), false, kopiurv1.ReasonWaitingForFirstCopy, proofSlot,
		},
		"a copy that is being made goes first":         {proven(copying), false, kopiurv1.ReasonVerificationWaiting, proofSlot},
		"so does one that is about to be":              {proven(due), false, kopiurv1.ReasonVerificationWaiting, proofSlot},
		"what is at work at the destination too":       {proven(func(w *replication.World) { w.Beside = "somebody" }), false, kopiurv1.ReasonVerificationWaiting, proofSlot},
		"suspended, it does not":                       {proven(suspend), false, kopiurv1.ReasonSuspended, proofSlot},
		"a source out of reach makes it matter":        {proven(degraded(kopiurv1.ReasonBackendUnreachable)), true, "", proofSlot},
		"also where a copy is due and has to wait":     {proven(due, degraded(kopiurv1.ReasonBackendUnreachable)), true, "", proofSlot},
		"a failed copy leaves an older one":            {proven(failedBefore(true)), true, "", proofSlot},
		"a source that is gone took its password":      {proven(func(w *replication.World) { w.Source = nil }), false, kopiurv1.ReasonWaitingForSourceRepository, proofSlot},
		"a place that is somebody else's is not asked": {proven(other(-72 * time.Hour)), false, kopiurv1.ReasonInvalidSpec, proofSlot},
		"a missing Secret is named": {proven(func(w *replication.World) {
			w.Proof.Gates = []gates.Verdict{{Reason: kopiurv1.ReasonMissingCredentialsSecret}}
		}), false, kopiurv1.ReasonMissingCredentialsSecret, proofSlot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := replication.Decide(tc.world, now)
			require.NotNil(t, p.Proof)
			assert.Equal(t, tc.start, p.Proof.Start, p.Proof.Waiting.Message)
			assert.Equal(t, tc.reason, p.Proof.Waiting.Reason)
			assert.Equal(t, tc.next, p.Status.Verification.NextScheduledAt)
			assert.Equal(t, tc.start, p.Status.Verification.Job != "")
			assert.Equal(t, earlier, p.Status.LastVerified)
			assert.Positive(t, p.After)
			if tc.start {
				assert.Nil(t, p.Start, "never both")
			}
		})
	}
	p := replication.Decide(given(copied), now)
	assert.Nil(t, p.Proof, "nobody asks for one")
	assert.Nil(t, p.Status.Verification)
}

// TestACopyWaitsForAProof that is under way, whatever asks for the copy.
func TestACopyWaitsForAProof(t *testing.T) {
	t.Parallel()
	for _, asks := range []change{due, request} {
		p := replication.Decide(proven(asks, proofJob(moverjob.Outcome{State: moverjob.Running})), now)
		assert.Nil(t, p.Start)
		assert.Equal(t, replication.Progressing, p.Verdict)
		assert.Equal(t, kopiurv1.ReasonWaitingForVerification, p.Reason)
		assert.Contains(t, p.Message, "b-offsite-1")
		assert.Equal(t, "b-offsite-1", p.Status.Verification.Job)
		assert.Equal(t, proofSlot, p.Status.Verification.NextScheduledAt)
	}
}

// TestWhatAProofSays: proven, disproven, or no answer, which changes nothing that was known.
func TestWhatAProofSays(t *testing.T) {
	t.Parallel()
	const retried = "2026-03-05T10:00:00Z"
	for name, tc := range map[string]struct {
		world    replication.World
		status   metav1.ConditionStatus
		reason   string
		verified string
		next     string
		failures int32
	}{
		"all is there and restores":          {proven(answer(work.CodeOK)), metav1.ConditionTrue, kopiurv1.ReasonVerified, "2026-03-05T08:59:00Z", proofNext, 0},
		"it makes up for an earlier failure": {proven(answer(work.CodeOK), proofWas(kopiurv1.VerificationFailed)), metav1.ConditionTrue, kopiurv1.ReasonVerified, "2026-03-05T08:59:00Z", proofNext, 0},
		"something is damaged":               {proven(answer(work.CodeVerificationFailed)), metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed, earlier, proofNext, 1},
		"nothing is there any more":          {proven(answer(work.CodeRepositoryVanished)), metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed, earlier, proofNext, 1},
		"there never was anything":           {proven(answer(work.CodeRepositoryNotInitialized)), metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed, earlier, proofNext, 1},
		"the store does not answer":          {proven(answer(work.CodeRepositoryUnavailable)), metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven, earlier, retried, 1},
		"the password is wrong":              {proven(answer(work.CodeAuthFailure)), metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven, earlier, retried, 1},
		"nothing fits the scratch volume":    {proven(answer(work.CodeScratchNotWritable)), metav1.ConditionUnknown, kopiurv1.ReasonScratchNotWritable, earlier, retried, 1},
		"the node was lost":                  {proven(proofJob(moverjob.Outcome{State: moverjob.NodeLost})), metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven, earlier, retried, 1},
		"the pod did not start":              {proven(proofJob(moverjob.Outcome{State: moverjob.Wedged})), metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven, earlier, retried, 1},
		"an outage hides no damage":          {proven(answer(work.CodeRepositoryUnavailable), proofWas(kopiurv1.VerificationFailed)), metav1.ConditionFalse, "Before", earlier, retried, 3},
		"there is no snapshot yet":           {proven(answer(work.CodeNotFound)), metav1.ConditionUnknown, kopiurv1.ReasonWaitingForFirstSnapshot, earlier, proofNext, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := replication.Decide(tc.world, now)
			v := verify.VerdictOf(*p.Proof)
			assert.Equal(t, tc.status, v.Status)
			assert.Equal(t, tc.reason, v.Reason)
			assert.NotEmpty(t, v.Message)
			assert.True(t, p.Proof.Recorded)
			assert.Equal(t, tc.verified, p.Status.LastVerified)
			assert.Equal(t, tc.next, p.Status.Verification.NextScheduledAt)
			assert.Equal(t, tc.failures, p.Status.Verification.ConsecutiveFailures)
			assert.Empty(t, p.Status.Verification.Job)
			assert.Equal(t, replication.Ready, p.Verdict, "copies go on whatever it says")
		})
	}
}

func TestProofJob(t *testing.T) {
	t.Parallel()
	w := proven(func(w *replication.World) {
		w.Replication.Status.BlobsTotal = new(int64(7))
	})
	build := func() *batchv1.Job {
		job, err := replication.BuildProof(w, replication.ProofRun(w.Replication), moverjob.Images{Mover: "mover:1"}, "")
		require.NoError(t, err)
		return job
	}
	job := build()
	assert.Equal(t, replication.ProofJobName(w.Replication, replication.ProofRun(w.Replication)), job.Name)
	assert.Equal(t, verify.Operation, job.Labels[kopiurv1.LabelOperation])
	assert.Equal(t, kopiurv1.ComponentVerify, job.Labels[kopiurv1.LabelComponent])
	assert.Equal(t, "apps", job.Namespace)
	assert.Zero(t, *job.Spec.BackoffLimit)
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, "copy", spec.Repository.Backend.S3.Bucket, "it reads the copy")
	assert.True(t, spec.Repository.ReadOnly)
	assert.Equal(t, "id", spec.Repository.ExpectedUniqueID, "which is the source's repository")
	v := spec.Operation.Verify
	assert.True(t, v.All)
	assert.Equal(t, int64(7), v.MinBlobs)
	assert.Equal(t, int64(10), v.Quick.FilesPercent)
	assert.Equal(t, int64(50), v.Deep.FitPercent, "a folder of the node is not the mover's alone")
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			assert.NotEqual(t, "disk", v.PersistentVolumeClaim.ClaimName, "nothing of the source is mounted")
		}
	}

	w.Replication.Status.Failure = &kopiurv1.Failure{}
	w.Source.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Scratch: &kopiurv1.Scratch{Capacity: "20Gi"}}
	spec, err = work.DecodeSpec(build().Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Zero(t, spec.Operation.Verify.MinBlobs, "a copy that failed may have deleted some")
	assert.Equal(t, int64(90), spec.Operation.Verify.Deep.FitPercent)
}
