// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"time"

	"github.com/kopiur/kopiur/apis/expr"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

// maxMessage bounds what the status says about a run.
const maxMessage = 1024

// finished judges a result: the mover's word first, then the user's program, then the user's expression.
func (w World) finished(p Plan, rule due.Rule, now time.Time) Plan {
	r := w.Outcome.Result
	switch {
	case r.Code == work.CodeVerificationFailed:
		p = p.count(r.Verify)
		return p.end(rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, r.Message+faults(r.Verify))
	case r.Code == work.CodeNotFound:
		return p.nothing(rule, now, r.Message)
	case r.Code == work.CodeScratchNotWritable:
		p = p.unproven(rule, now, r.Message)
		p.Run.Reason = kopiurv1.ReasonScratchNotWritable
		return p
	case r.Code != work.CodeOK:
		return p.unproven(rule, now, string(r.Code)+": "+r.Message)
	case r.Verify == nil:
		return p.unproven(rule, now, "the mover says that it verified, and not what")
	}
	unchanged := p
	p = p.count(r.Verify)
	if HasCheck(w.Policy, w.Tier) {
		switch w.Check.State {
		case CheckWaiting, CheckRunning:
			p = unchanged
			p.After = sooner(look, w.Check.Recheck)
			p.Waiting = gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + w.Job.Name + " restored, and the program of verification.deep.check looks at it"}
			return p
		case CheckLost:
			return p.unproven(rule, now, "the program of verification.deep.check came to no answer: "+w.Check.Message)
		case CheckFailed:
			p = p.end(rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationCheckFailed,
				"the snapshot was restored without errors, and verification.deep.check did not accept it: "+w.Check.Message)
			p.Run.LogTail = w.LogTail
			return p
		case CheckPassed:
		}
	}
	if text := w.Policy.Spec.Verification.SuccessExpr; text != "" {
		if why := rejected(text, w.Tier, r.Verify); why != "" {
			return p.end(rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationRejected, why)
		}
	}
	p = p.end(rule, now, kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, success(r.Verify))
	at := r.EndTime
	if at.IsZero() {
		at = now
	}
	p.Stamp = at.UTC().Format(time.RFC3339)
	return p
}

// rejected evaluates successExpr; "" is a yes.
func rejected(text string, tier kopiurv1.VerificationTier, r *work.VerifyResult) string {
	e, err := expr.CompileSuccess(text, string(tier))
	if err != nil {
		return "spec.verification.successExpr: " + err.Error()
	}
	in := expr.SuccessInput{Tier: string(tier), Stats: &expr.Stats{Files: r.Files, Bytes: r.Bytes, Errors: r.Errors}}
	if s := r.Snapshot; s != nil {
		in.Snapshot = &expr.Snapshot{ID: s.SnapshotID, Identity: identityOf(s.Identity), StartTime: s.StartTime, EndTime: s.EndTime}
	}
	if b := r.Restored; b != nil {
		in.Restored = &expr.Restored{Files: b.Files, ChecksumMatches: b.ChecksumMatches}
	}
	ok, err := e.Eval(in)
	switch {
	case err != nil:
		return "spec.verification.successExpr: " + err.Error()
	case ok:
		return ""
	}
	return fmt.Sprintf("there were no errors, and spec.verification.successExpr (%s) is not true: %d files, %d bytes, %d errors", text, r.Files, r.Bytes, r.Errors)
}

func identityOf(id work.Identity) string { return id.Username + "@" + id.Hostname + ":" + id.Path }

func success(r *work.VerifyResult) string {
	if r.Restored != nil {
		return fmt.Sprintf("the newest snapshot was restored: %d files, %d bytes, all of them as stored", r.Restored.Files, r.Restored.Bytes)
	}
	return fmt.Sprintf("%d snapshots with %d files have all they consist of; %d files were read to the end", r.Snapshots, r.Files, r.FilesRead)
}

// faults names the first of them.
func faults(r *work.VerifyResult) string {
	if r == nil || len(r.Faults) == 0 {
		return ""
	}
	return "; the first is " + r.Faults[0].Path + ": " + r.Faults[0].Reason
}

func (p Plan) count(r *work.VerifyResult) Plan {
	if r != nil {
		p.Run.Snapshots, p.Run.Files, p.Run.Bytes, p.Run.Errors = r.Snapshots, r.Files, r.Bytes, r.Errors
	}
	return p
}

// end records a run, and pins the next one.
func (p Plan) end(rule due.Rule, now time.Time, o kopiurv1.VerificationOutcome, reason, message string) Plan {
	r := &p.Run
	r.LastHandledAt, r.LastRunAt = r.NextScheduledAt, now.UTC().Format(time.RFC3339)
	r.Outcome, r.Reason, r.Message, r.LogTail = o, reason, work.Clip(message, maxMessage), ""
	if o == kopiurv1.VerificationSucceeded {
		r.ConsecutiveFailures = 0
	} else {
		r.ConsecutiveFailures++
	}
	return p.next(rule.Next(now), now)
}

// unproven is a run that came to no answer. What an earlier one proved, or disproved, stays as it was.
func (p Plan) unproven(rule due.Rule, now time.Time, message string) Plan {
	was := p.Run
	p = p.end(rule, now, kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, message)
	if was.Outcome == kopiurv1.VerificationFailed {
		// An outage must not make known damage look better.
		p.Run.Outcome, p.Run.Reason, p.Run.Message, p.Run.LogTail = was.Outcome, was.Reason, was.Message, was.LogTail
	}
	return p.next(rule.Retry(now, retry), now)
}

// nothing is a run that found no complete snapshot: it waits for one, and is no failure (I-5).
func (p Plan) nothing(rule due.Rule, now time.Time, message string) Plan {
	failures := p.Run.ConsecutiveFailures
	p = p.end(rule, now, "", kopiurv1.ReasonWaitingForFirstSnapshot, message)
	p.Run.ConsecutiveFailures = failures
	return p.next(rule.Next(now), now)
}

func (p Plan) next(pin due.Pin, now time.Time) Plan {
	p.Run.NextScheduledAt, p.Run.Schedule, p.Run.Job = pin.String(), pin.Rule, ""
	p.Recorded, p.After = true, pin.At.Sub(now)
	return p
}
