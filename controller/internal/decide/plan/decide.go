// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// forEver stands for "no deadline" where a duration is needed.
const forEver = 100 * 365 * 24 * time.Hour

func attemptKey(n int32) string { return strconv.Itoa(int(n)) }

// Decide says what comes next for a Snapshot. It is total.
func Decide(w World, now time.Time) Plan {
	s := w.Snapshot
	switch {
	case s == nil || s.DeletionTimestamp != nil:
		// What was made for it goes by its owner references; the stored data stays.
		return Plan{Action: Rest, Carry: true}
	case s.Status.Phase == kopiurv1.SnapshotDiscovered || s.Status.Phase == kopiurv1.SnapshotDeleting:
		return Plan{Action: Rest, Carry: true}
	case s.Status.Phase.Terminal() && !Reopens(s):
		return settle(w, now)
	}
	attempt, started := Current(s)
	if w.Job != nil {
		return follow(w, attempt, now)
	}
	if !started {
		return gate(w, attempt, now)
	}
	if !w.asked(AskJob) {
		return Plan{Ask: AskJob} // the cache may be behind the status, which was written after the Job
	}
	return lost(w, attempt, now)
}

// follow looks at the Job of the present attempt.
func follow(w World, attempt int32, now time.Time) Plan {
	staged := w.Snapshot.Status.Staged
	unbound := staged != nil && staged.WaitForFirstConsumer && w.StagedClaim != nil && w.StagedClaim.Status.Phase != corev1.ClaimBound
	o := moverjob.Decide(w.Job, w.Pods, startupDeadline(w.Snapshot), w.server(now))
	p := Plan{Outcome: o, Attempt: attempt, Job: w.Job, Carry: true}
	switch o.State {
	case moverjob.Finished:
		p.Action = Record
	case moverjob.Running:
		p.Action, p.Phase = Follow, kopiurv1.SnapshotRunning
		p.Reason, p.Message = kopiurv1.ReasonMoverRunning, "the mover runs in pod "+o.PodName
		since := w.Job.CreationTimestamp.Time
		if t := w.Job.Status.StartTime; t != nil {
			since = t.Time
		}
		p.After = work.ProgressInterval(w.server(now).Sub(since))
	case moverjob.Waiting:
		if unbound && !w.asked(AskClaimEvent) {
			return Plan{Ask: AskClaimEvent}
		}
		p.Action, p.Phase = Wait, kopiurv1.SnapshotPending
		if w.Snapshot.Status.Phase == kopiurv1.SnapshotRunning {
			p.Phase = kopiurv1.SnapshotRunning
		}
		p.Reason, p.Message, p.After = kopiurv1.ReasonMoverStarting, o.Message, o.Recheck
		if o.Starting {
			p.Message = Starting // as the start itself said
		}
		if unbound {
			p.Message += "; " + staging.BindMessage(staged.PVCName, w.ClaimEvent)
		}
	case moverjob.NodeLost:
		p.Action, p.Phase, p.Reason, p.Message, p.After = Wait, kopiurv1.SnapshotRunning, kopiurv1.ReasonNodeLost, o.Message, o.Recheck
	case moverjob.Wedged:
		if unbound && !w.asked(AskClaimEvent) {
			return Plan{Ask: AskClaimEvent}
		}
		return fail(p, OpStart, wedged(w, o, unbound))
	case moverjob.DeadlineKilled:
		return fail(p, OpSnapshot, reasoned{kopiurv1.ReasonDeadlineKilled, o.Message + ": raise failurePolicy.activeDeadlineSeconds, or look at the log for what it waited for"})
	case moverjob.ResultLost:
		if !o.Terminal {
			p.Action, p.Phase, p.Reason, p.Message = Wait, kopiurv1.SnapshotRunning, kopiurv1.ReasonResultLost, o.Message
			return p
		}
		return lost(w, attempt, now)
	case moverjob.Absent:
		return lost(w, attempt, now)
	}
	return p
}

// Starting is what is said of a mover while nothing is unusual about it.
const Starting = "the mover's pod is starting"

type reasoned struct{ reason, message string }

func wedged(w World, o moverjob.Outcome, unbound bool) reasoned {
	if unbound {
		return reasoned{kopiurv1.ReasonStagedPVCBindTimeout, staging.BindMessage(w.StagedClaim.Name, w.ClaimEvent) + "; " + o.Message}
	}
	return reasoned{kopiurv1.ReasonMoverPodWedged, "the mover's pod did not start in time: " + o.Message}
}

// startupDeadline is the pod's own, and that of staging in front of it where the staged claim is provisioned only for
// the pod: a slow copy must not count as a pod that does not start (acceptance A-4).
func startupDeadline(s *kopiurv1.Snapshot) time.Duration {
	d := moverjob.StartupDeadline(s.Spec.FailurePolicy)
	if staged := s.Status.Staged; staged != nil && staged.WaitForFirstConsumer {
		if staged.StagingTimeoutSeconds <= 0 {
			return forEver
		}
		d += time.Duration(staged.StagingTimeoutSeconds) * time.Second
	}
	return d
}

// lost follows up an attempt whose Job or result is gone. The next mover asks the repository first whether the snapshot
// is there already.
func lost(w World, attempt int32, now time.Time) Plan {
	if attempt >= MaxAttempts {
		return fail(Plan{Attempt: attempt, Job: w.Job, Carry: true}, OpSnapshot, reasoned{
			string(work.CodeLost),
			fmt.Sprintf("the result of %d movers was lost with their pods; the data may be stored: look for evictions and for whoever deletes pods and Jobs here", attempt),
		})
	}
	old := w.Job
	w.Job, w.Pods = nil, nil
	p := gate(w, attempt+1, now)
	p.Lost = old
	return p
}

// settle finishes what a crash may have left open behind a final status: the Job's time to live and the staged copy.
func settle(w World, now time.Time) Plan {
	p := Plan{Action: Rest, Carry: true, Job: w.Job}
	if w.Job != nil {
		o := moverjob.Decide(w.Job, w.Pods, forEver, w.server(now))
		if !o.Terminal && w.Snapshot.Status.Failure != nil && w.Snapshot.Status.Failure.Op == OpStart {
			if w.Job.DeletionTimestamp != nil {
				return p
			}
			p.Action = Reap
			return p
		}
		if !o.Terminal {
			return p // the Job's last event comes
		}
		if w.Job.Spec.TTLSecondsAfterFinished == nil {
			p.Action = Retire
			return p
		}
	}
	if w.Snapshot.Status.Staged != nil && len(w.OtherPods) == 0 {
		return unstage(w, p)
	}
	return pin(w, p, now)
}

// unstage removes the copy, one object at a time.
func unstage(w World, p Plan) Plan {
	if w.Snapshot.Status.Staged.VolumeSnapshotName != "" && !w.asked(AskVolumeSnapshot) {
		return Plan{Ask: AskVolumeSnapshot}
	}
	p.Action, p.Removal = Unstage, staging.Cleanup(stagingState(w, *w.Snapshot.Status.Staged))
	return p
}

func stagingState(w World, staged kopiurv1.Staged) staging.State {
	return staging.State{
		Owner: w.Snapshot.UID, Staged: staged, Source: w.Source,
		Snapshot: w.VolumeSnapshot, Claim: w.StagedClaim, ClaimEvent: w.ClaimEvent,
	}
}

// fail ends a Snapshot without a mover's result.
func fail(p Plan, op string, why reasoned) Plan {
	p.Action, p.Phase = Fail, kopiurv1.SnapshotFailed
	p.Reason, p.Message = why.reason, why.message
	p.Failure = &kopiurv1.Failure{KopiaErrorClass: why.reason, Message: work.Clip(why.message, 1024), Op: op}
	return p
}

func list(items []string) string { return strings.Join(items, ", ") }
