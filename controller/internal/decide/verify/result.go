// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"time"

	"github.com/kopiur/kopiur/apis/expr"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

// judge has the user's program look at what was restored, and then asks the user's expression. A run that they end is not
// verified, and one that waits for the program goes on.
func (w World) judge(p Plan, l Line, now time.Time) (Plan, bool) {
	r := w.Outcome.Result.Verify
	if HasCheck(w.Policy, w.Tier) {
		switch w.Check.State {
		case CheckWaiting, CheckRunning:
			p = l.plan()
			p.Run.Job, p.After = w.Job.Name, sooner(look, w.Check.Recheck)
			p.Waiting = gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + w.Job.Name + " restored, and the program of verification.deep.check looks at it"}
			return p, false
		case CheckLost:
			return p.unproven(l.Rule, now, "the program of verification.deep.check came to no answer: "+w.Check.Message), false
		case CheckFailed:
			p = p.end(l.Rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationCheckFailed,
				"the snapshot was restored without errors, and verification.deep.check did not accept it: "+w.Check.Message)
			p.Run.LogTail = w.LogTail
			return p, false
		case CheckPassed:
		}
	}
	if text := w.Policy.Spec.Verification.SuccessExpr; text != "" {
		if why := rejected(text, w.Tier, r); why != "" {
			return p.end(l.Rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationRejected, why), false
		}
	}
	return p, true
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
