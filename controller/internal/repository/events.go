// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// action of all events of this package.
const action = "Bootstrap"

// announce publishes what changed. Each event has the reason of the condition that it belongs to.
func announce(p *loop.Patcher, s subject, plan connect.Plan) {
	if c := p.Conditions.Get(kopiurv1.ConditionIndexBlobHealth); c.Status == "False" {
		p.EmitChange(c.Type, loop.Warning(c.Reason, action, "%s", c.Message))
	}
	switch {
	case plan.Verdict == connect.Keep && plan.Reason != "":
		e := loop.Warning(plan.Reason, action, "%s", note(s, plan))
		if p.Conditions.Get(kopiurv1.ConditionBackendReachable).Reason == plan.Reason {
			p.EmitChange(kopiurv1.ConditionBackendReachable, e)
		} else {
			p.Emit(e) // an attempt that told nothing is in no condition
		}
	case plan.Verdict == connect.Ready:
		p.EmitChange(kopiurv1.ConditionReady, loop.Normal(plan.Reason, action, "%s", plan.Note))
	case plan.Verdict == connect.Stalled, plan.Verdict == connect.Progressing && plan.Reason != kopiurv1.ReasonConnecting:
		p.EmitChange(kopiurv1.ConditionReady, loop.Warning(plan.Reason, action, "%s", note(s, plan)))
	}
}

// note is the condition's text, and behind it the mover's own words, which the condition leaves out because they change
// from attempt to attempt.
func note(s subject, plan connect.Plan) string {
	if plan.Note == "" || s.status.Failure == nil {
		return plan.Message
	}
	return plan.Message + ". The mover said: " + plan.Note
}
