// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// action is what all events of this reconciler are about.
const action = "Restore"

// alarming are reasons that people should hear of although the condition is not False.
var alarming = map[string]bool{
	kopiurv1.ReasonTargetInUse: true, kopiurv1.ReasonResolutionUnknown: true,
	kopiurv1.ReasonNodeLost: true, kopiurv1.ReasonResultLost: true,
}

// emit publishes what changed: a gate that closed, the decision, the end. It also gives the summary, because an event
// compares it with the one before.
func emit(p *loop.Patcher, plan decide.Plan) {
	for _, n := range plan.Notes {
		if n.Warning {
			p.Emit(loop.Warning(n.Reason, action, "%s", n.Message))
		} else {
			p.Emit(loop.Normal(n.Reason, action, "%s", n.Message))
		}
	}
	for _, c := range plan.Conditions {
		switch {
		case alarming[c.Reason] || c.Status == metav1.ConditionFalse:
			p.EmitChange(c.Type, loop.Warning(c.Reason, action, "%s", c.Message))
		case c.Type == kopiurv1.ConditionResolved && c.Status == metav1.ConditionTrue:
			p.EmitChange(c.Type, loop.Normal(c.Reason, action, "%s", c.Message))
		}
	}
	if plan.Keep {
		return
	}
	switch plan.State {
	case decide.Ready:
		p.Ready(plan.Reason, "%s", plan.Message)
		p.EmitChange(kopiurv1.ConditionReady, loop.Normal(plan.Reason, action, "%s", plan.Message))
	case decide.Stalled:
		p.Stalled(plan.Reason, "%s", plan.Message)
		p.EmitChange(kopiurv1.ConditionStalled, loop.Warning(plan.Reason, action, "%s", plan.Message))
	case decide.Progressing:
		p.Progressing(plan.Reason, "%s", plan.Message)
		if alarming[plan.Reason] && p.Conditions.Get(kopiurv1.ConditionResolved).Reason != plan.Reason {
			p.EmitChange(kopiurv1.ConditionReady, loop.Warning(plan.Reason, action, "%s", plan.Message))
		}
	}
}
