// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// TestRun follows the Job of an attempt.
func TestRun(t *testing.T) {
	t.Parallel()
	const runningPhase, pendingPhase, failed = kopiurv1.SnapshotRunning, kopiurv1.SnapshotPending, kopiurv1.SnapshotFailed
	asked := func(w *plan.World) { w.Asked |= plan.AskJob | plan.AskClaimEvent }
	lazy := func(s *kopiurv1.Staged) { s.WaitForFirstConsumer = true }
	lost := ended(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	retryable := work.Result{Operation: "snapshot", Code: work.CodeRepositoryUnavailable, Message: "no answer"}
	hanging := func(age time.Duration) func(*plan.World) {
		return func(w *plan.World) {
			running(w)
			w.Pods[0].DeletionTimestamp = new(metav1.NewTime(now.Add(-age)))
		}
	}
	for name, tc := range map[string]row{
		"a mover runs: its progress is read every 5 s at first": {world(told(1), job(1, 0), running), plan.Follow, runningPhase, kopiurv1.ReasonMoverRunning, "the mover runs in", 5 * time.Second, ""},
		"and every 30 s later":                            {world(told(1), job(1, time.Hour), running), plan.Follow, runningPhase, kopiurv1.ReasonMoverRunning, "", 30 * time.Second, ""},
		"the Job was made and the status does not say so": {world(job(1, 0), running), plan.Follow, runningPhase, kopiurv1.ReasonMoverRunning, "", 5 * time.Second, ""},
		"the pod has just begun to start":                 {world(told(1), job(1, 10*time.Second), pending), plan.Wait, runningPhase, kopiurv1.ReasonMoverStarting, plan.Starting, 20 * time.Second, ""},
		"the pod starts":                                  {world(job(1, time.Minute), pending), plan.Wait, pendingPhase, kopiurv1.ReasonMoverStarting, "is starting", 4 * time.Minute, ""},
		"a failed mover waits for its retry":              {world(told(1), job(1, 0), reported(retryable)), plan.Wait, runningPhase, kopiurv1.ReasonMoverStarting, "will be tried again", 0, ""},
		"the pod does not start":                          {world(told(1), job(1, 5*time.Minute), pending), plan.Fail, failed, kopiurv1.ReasonMoverPodWedged, "is starting", 0, plan.OpStart},
		"a copy that is made for the pod has its own time before (A-4)": {
			world(told(1), asked, begun(lazy), copied(corev1.ClaimPending, 0), job(1, 12*time.Minute), pending), plan.Wait, runningPhase, kopiurv1.ReasonMoverStarting, "one-src is not bound yet", 3 * time.Minute, "",
		},
		"a copy that is never made fails as a copy": {
			world(told(1), asked, begun(lazy), copied(corev1.ClaimPending, 0), job(1, 15*time.Minute), pending), plan.Fail, failed, kopiurv1.ReasonStagedPVCBindTimeout, "one-src is not bound yet", 0, plan.OpStart,
		},
		"without a deadline it waits on": {
			world(told(1), asked, begun(lazy, func(s *kopiurv1.Staged) { s.StagingTimeoutSeconds = 0 }), copied(corev1.ClaimPending, 0), job(1, 1000*time.Hour), pending),
			plan.Wait, runningPhase, kopiurv1.ReasonMoverStarting, "not bound yet", 100*365*24*time.Hour - 1000*time.Hour, "",
		},
		"a success":                                 {world(told(1), job(1, 0), reported(ok())), plan.Record, "", "", "", 0, ""},
		"a retryable end of the whole Job":          {world(told(1), job(1, 0), reported(retryable), ended(batchv1.JobFailed)), plan.Record, "", "", "", 0, ""},
		"a permanent failure":                       {world(told(1), job(1, 0), reported(work.Result{Code: work.CodeAuthFailure})), plan.Record, "", "", "", 0, ""},
		"a lost node is told of, not worked around": {world(told(1), job(1, time.Hour), hanging(10*time.Minute)), plan.Wait, runningPhase, kopiurv1.ReasonNodeLost, "bring the node back", 0, ""},
		"the Job's own deadline": {
			world(told(1), job(1, time.Hour), func(w *plan.World) {
				w.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded}}
			}), plan.Fail, failed, kopiurv1.ReasonDeadlineKilled, "activeDeadlineSeconds", 0, plan.OpSnapshot,
		},
		"a lost result waits for the Job's end": {world(told(1), job(1, 0), ended(batchv1.JobSuccessCriteriaMet)), plan.Wait, runningPhase, kopiurv1.ReasonResultLost, "gone", 0, ""},
		"then another mover is started":         {world(told(1), job(1, 0), lost), plan.Start, pendingPhase, "", "", 0, ""},
		"but not while its pod may live": {
			world(told(1), job(1, 0), lost, func(w *plan.World) { w.OtherPods = []string{"old"} }), plan.Wait, pendingPhase, kopiurv1.ReasonMoverStarting, "has not ended", time.Minute, "",
		},
		"three lost results are enough":      {world(told(3), job(3, 0), lost), plan.Fail, failed, "Lost", "3 movers", 0, plan.OpSnapshot},
		"the Job is gone":                    {world(told(1), asked), plan.Start, pendingPhase, "", "", 0, ""},
		"the Job is gone for the third time": {world(told(3), asked), plan.Fail, failed, "Lost", "", 0, plan.OpSnapshot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc)
		})
	}
}

// TestAttempts: every attempt has a number, and a number is used once.
func TestAttempts(t *testing.T) {
	t.Parallel()
	asked := func(w *plan.World) { w.Asked |= plan.AskJob }
	for name, tc := range map[string]struct {
		w    plan.World
		want int32
	}{
		"the first":                           {world(), 1},
		"after a Job that vanished":           {world(told(1), asked), 2},
		"after a start that failed":           {world(told(1), failedIn(plan.OpStart), changed), 2},
		"the reopened turn was already noted": {world(func(w *plan.World) { w.Snapshot.Status.Job = &kopiurv1.JobStatus{Attempts: 1} }), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Equal(t, plan.Start, p.Action)
			assert.Equal(t, tc.want, p.Attempt)
			assert.Equal(t, plan.JobName(tc.w.Snapshot, tc.want), p.Job.Name)
		})
	}
}

// TestSettle: what a crash left open behind a final status is closed, in order, and then nothing is done.
func TestSettle(t *testing.T) {
	t.Parallel()
	terminal := ended(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	retired := func(w *plan.World) { w.Job.Spec.TTLSecondsAfterFinished = new(int32(60)) }
	success := recorded(kopiurv1.SnapshotSucceeded)
	for name, tc := range map[string]struct {
		w       plan.World
		want    plan.Action
		removal staging.Removal
	}{
		"recorded, the Job is closing": {world(begun(), success, job(1, 0), reported(ok())), plan.Rest, ""},
		"the Job is over":              {world(begun(), success, job(1, 0), reported(ok()), terminal), plan.Retire, ""},
		"then the copy's claim goes":   {world(begun(), success, cut(true, 0), copied(corev1.ClaimBound, 0), job(1, 0), terminal, retired), plan.Unstage, staging.RemoveClaim},
		"then its snapshot":            {world(begun(), success, cut(true, 0), job(1, 0), terminal, retired), plan.Unstage, staging.RemoveSnapshot},
		"then the note of both":        {world(begun(), success, job(1, 0), terminal, retired), plan.Unstage, staging.Clean},
		"then nothing":                 {world(success, job(1, 0), terminal, retired), plan.Rest, ""},
		"the Job went by itself":       {world(success), plan.Rest, ""},
		"a failed start is reaped":     {world(told(1), failedIn(plan.OpStart), job(1, time.Hour), pending), plan.Reap, ""},
		"once": {
			world(told(1), failedIn(plan.OpStart), job(1, time.Hour), pending, func(w *plan.World) { w.Job.DeletionTimestamp = new(metav1.NewTime(now)) }), plan.Rest, "",
		},
		"its copy waits for its pod":       {world(begun(), told(1), failedIn(plan.OpStart), copied(corev1.ClaimBound, 0), func(w *plan.World) { w.OtherPods = []string{"p"} }), plan.Rest, ""},
		"and goes after it":                {world(begun(), told(1), failedIn(plan.OpStart), copied(corev1.ClaimBound, 0)), plan.Unstage, staging.RemoveClaim},
		"a discovered one is left alone":   {world(recorded(kopiurv1.SnapshotDiscovered), changed), plan.Rest, ""},
		"a success is a record":            {world(success, changed), plan.Rest, ""},
		"so is a mover's failure":          {world(failedIn(plan.OpSnapshot), changed), plan.Rest, ""},
		"so is one of another version":     {world(failedIn(""), changed), plan.Rest, ""},
		"a failed gate opens for a change": {world(failedIn(plan.OpPrepare), changed), plan.Start, ""},
		"and not for anything else":        {world(failedIn(plan.OpPrepare)), plan.Rest, ""},
		"a deleted one is let go": {
			world(begun(), func(w *plan.World) { w.Snapshot.DeletionTimestamp = new(metav1.NewTime(now)) }), plan.Rest, "",
		},
		"nothing at all": {plan.World{}, plan.Rest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Zero(t, p.Ask)
			assert.Equal(t, tc.want, p.Action)
			assert.Equal(t, tc.removal, p.Removal)
		})
	}
}

// TestACopyIsNeverRemovedUnderAMover is the property behind A-3: as long as the Job is not over or a pod may live,
// nothing of the copy is removed, whatever the status says.
func TestACopyIsNeverRemovedUnderAMover(t *testing.T) {
	t.Parallel()
	for _, phase := range []kopiurv1.SnapshotPhase{"", kopiurv1.SnapshotPending, kopiurv1.SnapshotRunning, kopiurv1.SnapshotSucceeded, kopiurv1.SnapshotFailed, kopiurv1.SnapshotUnchanged} {
		for name, alive := range map[string]func(*plan.World){
			"a Job with a running pod":  func(w *plan.World) { job(1, 0)(w); running(w) },
			"a Job without pods":        job(1, 0),
			"a Job that is closing":     func(w *plan.World) { job(1, 0)(w); reported(ok())(w); ended(batchv1.JobSuccessCriteriaMet)(w) },
			"a pod of another attempt":  func(w *plan.World) { w.OtherPods = []string{"old"} },
			"a pod beside a final Job":  func(w *plan.World) { job(1, 0)(w); ended(batchv1.JobComplete)(w); w.OtherPods = []string{"old"} },
			"a Job that nobody told of": func(w *plan.World) { w.Snapshot.Status.Job = nil; job(1, 0)(w) },
		} {
			t.Run(string(phase)+" with "+name, func(t *testing.T) {
				t.Parallel()
				w := world(begun(), cut(true, 0), copied(corev1.ClaimBound, 0), recorded(phase), told(1), alive)
				w.Snapshot.Status.Phase = phase
				w.Asked = ^plan.Ask(0)
				assert.NotEqual(t, plan.Unstage, plan.Decide(w, now).Action)
			})
		}
	}
}
