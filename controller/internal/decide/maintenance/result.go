// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// maxMessage bounds what the status says about a run.
const maxMessage = 1024

// watch follows the Job that is under way.
func (w World) watch(p Plan, r rules, now time.Time) Plan {
	p.Status.Job = &kopiurv1.JobStatus{Name: w.Job.Name, Attempts: w.Outcome.Attempts}
	if r := w.asked(&p); r != nil {
		r.Phase = kopiurv1.RunRunning
	}
	o := w.Outcome
	switch o.State {
	case moverjob.Absent, moverjob.Waiting, moverjob.Running, moverjob.NodeLost:
		// Behind a node that does not answer a mover may still be at work: nothing is started beside it.
		p.After = Look
		if o.Recheck > 0 {
			p.After = min(p.After, o.Recheck)
		}
		p = p.standing(w)
		if o.State == moverjob.NodeLost {
			p.Verdict, p.Reason, p.Message = Progressing, kopiurv1.ReasonNodeLost, o.Message
		}
		return p
	case moverjob.Finished:
		switch o.Result.Code {
		case work.CodeOK:
			return w.succeeded(p, r, now)
		case work.CodeLeaseHeldByOther:
			return w.yielded(p, r, now)
		default:
			return w.failed(p, r, now, string(o.Result.Code), o.Result.Message)
		}
	case moverjob.ResultLost:
		return w.failed(p, r, now, string(work.CodeLost), "the result was lost: "+o.Message)
	case moverjob.Wedged:
		return w.failed(p, r, now, kopiurv1.ReasonMoverPodWedged, "the mover's pod did not start: "+o.Message)
	case moverjob.DeadlineKilled:
		return w.failed(p, r, now, kopiurv1.ReasonDeadlineKilled, "the time was up: "+o.Message)
	}
	return p
}

// asked is the request that the turn answers, nil where it answers none, or where somebody has asked for another since.
func (w World) asked(p *Plan) *kopiurv1.MaintenanceManualRun {
	if r := p.Status.ManualRun; w.Turn.Manual && r != nil && r.RequestedAt == w.Turn.At {
		return r
	}
	return nil
}

// handled ends the turn: its time does not come back. A full run is a quick one as well.
func (w World) handled(p *Plan, r rules, now time.Time) {
	p.Recorded, p.Status.Job, p.Status.LogTail = true, nil, w.LogTail
	quick, full := p.Status.Quick, p.Status.Full
	if r := w.asked(p); r != nil {
		r.CompletedAt = stamp(now)
	}
	if w.Turn.Mode == kopiurv1.MaintenanceFull {
		if passed(full, now) || w.Turn.Manual {
			full.LastHandledAt = handledAt(full, now)
			set(full, r.full.Next(now))
		}
		if passed(quick, now) {
			quick.LastHandledAt = handledAt(quick, now)
			set(quick, r.quick.Next(now))
		}
	} else if passed(quick, now) || w.Turn.Manual {
		quick.LastHandledAt = handledAt(quick, now)
		set(quick, r.quick.Next(now))
	}
	p.After = time.Second // its Job is let go then
}

// handledAt is the pinned time where that has passed, else the present: a run that was asked for is no turn of the
// schedule.
func handledAt(s *kopiurv1.MaintenanceRunStatus, now time.Time) string {
	if passed(s, now) {
		return s.NextScheduledAt
	}
	return stamp(now)
}

func (w World) of(p *Plan) *kopiurv1.MaintenanceRunStatus {
	if w.Turn.Mode == kopiurv1.MaintenanceFull {
		return p.Status.Full
	}
	return p.Status.Quick
}

func (w World) succeeded(p Plan, r rules, now time.Time) Plan {
	m := w.Outcome.Result.Maintain
	if m == nil {
		return w.failed(p, r, now, string(work.CodeUnknown), "the mover says that it maintained, and not how")
	}
	w.handled(&p, r, now)
	p.Ended = Succeeded
	end := w.Outcome.Result.EndTime
	if end.IsZero() {
		end = now
	}
	s := w.of(&p)
	s.LastRunAt, s.ConsecutiveFailures, s.LastContentReclaimedBytes = stamp(end), 0, new(m.ReclaimedBytes)
	s.ReclaimableAt = ""
	s.Message = fmt.Sprintf("%d bytes in %d blobs were given back; there are %d index blobs", m.ReclaimedBytes, m.ReclaimedBlobs, m.IndexBlobCount)
	if wait := m.Waiting; wait != nil {
		if !wait.At.IsZero() {
			s.ReclaimableAt = stamp(wait.At)
		}
		s.Message += "; " + wait.Message
	}
	s.Message = work.Clip(s.Message, maxMessage)
	if w.Turn.Mode == kopiurv1.MaintenanceFull {
		p.Status.Quick.ConsecutiveFailures = 0
	}
	p.Reclaimed = m.ReclaimedBytes
	if !w.behindFull(p) {
		p.Status.Failure = nil
	}
	if o := p.Status.Ownership; o == nil || o.Owner != m.Owner || o.ClaimedAt == "" {
		p.Status.Ownership = &kopiurv1.MaintenanceOwner{Owner: m.Owner, ClaimedAt: stamp(now)}
	}
	if r := w.asked(&p); r != nil {
		r.Phase = kopiurv1.RunSucceeded
	}
	return p.standing(w)
}

// yielded is a turn that was left to another owner: dealt with, and not run.
func (w World) yielded(p Plan, r rules, now time.Time) Plan {
	w.handled(&p, r, now)
	p.Ended = Yielded
	owner := "somebody else"
	if m := w.Outcome.Result.Maintain; m != nil && m.Owner != "" {
		owner = m.Owner
	}
	p.Status.Ownership = &kopiurv1.MaintenanceOwner{Owner: owner}
	p.Status.Failure = nil
	p.Status.Quick.ConsecutiveFailures, p.Status.Full.ConsecutiveFailures = 0, 0
	w.of(&p).Message = "left to " + owner
	if r := w.asked(&p); r != nil {
		r.Phase = kopiurv1.RunFailed
	}
	return p.standing(w)
}

// behindFull reports whether a run was a quick one while the full ones fail. What is wrong with those stays on record: a
// quick run says nothing about it.
func (w World) behindFull(p Plan) bool {
	return w.Turn.Mode == kopiurv1.MaintenanceQuick && p.Status.Full.ConsecutiveFailures > 0
}

func (w World) failed(p Plan, r rules, now time.Time, class, message string) Plan {
	w.handled(&p, r, now)
	p.Ended = Failed
	s := w.of(&p)
	s.ConsecutiveFailures++
	s.Message = work.Clip(message, maxMessage)
	f := moverjob.Failure(w.Outcome)
	if f == nil {
		f = &kopiurv1.Failure{KopiaErrorClass: class, Message: s.Message, RetryRecommended: true, Op: Operation}
	}
	if p.Status.Failure == nil || !w.behindFull(p) {
		p.Status.Failure = f
	}
	rule := r.quick
	if w.Turn.Mode == kopiurv1.MaintenanceFull {
		rule = r.full
	}
	set(s, rule.Retry(now, retry))
	if r := w.asked(&p); r != nil {
		r.Phase = kopiurv1.RunFailed
	}
	return p.standing(w)
}

// standing is how the Maintenance stands, from its status alone.
func (p Plan) standing(w World) Plan {
	p = p.owned(w)
	switch {
	case p.Status.Failure != nil:
		which := "run"
		if p.Status.Full.ConsecutiveFailures > 0 {
			which = "full run"
		}
		p.Verdict, p.Reason, p.Message = Progressing, kopiurv1.ReasonMaintenanceFailed,
			fmt.Sprintf("the last %s failed (%s): %s; the next run is due at %s", which, p.Status.Failure.KopiaErrorClass, p.Status.Failure.Message, p.nextAt())
		if p.Status.Failure.KopiaErrorClass == string(work.CodeVerificationFailed) {
			p.Verdict = Stalled
		}
	case p.foreign() && w.Maintenance.Spec.Ownership.TakeoverPolicy == kopiurv1.TakeoverPromptCondition:
		p.Verdict, p.Reason, p.Message = Stalled, kopiurv1.ReasonLeaseTakeoverPrompt,
			p.Status.Ownership.Owner+" is registered as the owner of the repository's maintenance: stop it, or set spec.ownership.takeoverPolicy to Force once"
	case p.foreign():
		p.Verdict, p.Reason, p.Message = Ready, kopiurv1.ReasonMaintenanceYielding, "maintenance is left to "+p.Status.Ownership.Owner
	case p.Status.Quick.LastRunAt == "" && p.Status.Full.LastRunAt == "":
		p.Verdict, p.Reason, p.Message = Ready, kopiurv1.ReasonMaintenanceScheduled, "the first run is due at "+p.nextAt()
	default:
		p.Verdict, p.Reason, p.Message = Ready, kopiurv1.ReasonMaintained, "the repository is maintained; the next run is due at "+p.nextAt()
	}
	return p
}

func (p Plan) foreign() bool {
	return p.Status.Ownership != nil && p.Status.Ownership.Owner != "" && p.Status.Ownership.ClaimedAt == ""
}

func (p Plan) nextAt() string {
	if due.Read(p.Status.Full.NextScheduledAt, "").At.Before(due.Read(p.Status.Quick.NextScheduledAt, "").At) {
		return p.Status.Full.NextScheduledAt
	}
	return p.Status.Quick.NextScheduledAt
}

// owned is the condition LeaseOwned, and what is wrong with a request.
func (p Plan) owned(w World) Plan {
	switch o := p.Status.Ownership; {
	case o == nil:
	case p.foreign() && w.Maintenance.Spec.Ownership.TakeoverPolicy == kopiurv1.TakeoverPromptCondition:
		p.add(kopiurv1.ConditionLeaseOwned, metav1.ConditionFalse, kopiurv1.ReasonLeaseTakeoverPrompt,
			o.Owner+" is the registered owner: stop it, or set spec.ownership.takeoverPolicy to Force once")
	case p.foreign():
		p.add(kopiurv1.ConditionLeaseOwned, metav1.ConditionFalse, kopiurv1.ReasonLeaseHeldByOther,
			o.Owner+" is the registered owner; if that one is gone for good, set spec.ownership.takeoverPolicy to Force once")
	default:
		p.add(kopiurv1.ConditionLeaseOwned, metav1.ConditionTrue, kopiurv1.ReasonLeaseOwned, "registered as "+o.Owner+" since "+o.ClaimedAt)
	}
	if bad := InvalidRequest(w.Maintenance); bad != "" {
		p.add(kopiurv1.ConditionRunRequested, metav1.ConditionFalse, kopiurv1.ReasonInvalidRunRequest, bad)
	}
	return p
}

func (p *Plan) add(kind string, status metav1.ConditionStatus, reason, message string) {
	p.Conditions = append(p.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
