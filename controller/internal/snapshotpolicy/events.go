// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// alarming are reasons of the condition Verified that people should hear of although it is not False.
var alarming = map[string]bool{kopiurv1.ReasonVerificationUnproven: true, kopiurv1.ReasonScratchNotWritable: true}

// announceVerified sets the condition Verified, with an event when it changes.
func announceVerified(p *loop.Patcher, v verify.Verdict) {
	kind := kopiurv1.ConditionVerified
	switch v.Status {
	case "True":
		p.Conditions.True(kind, v.Reason, "%s", v.Message)
		p.EmitChange(kind, loop.Normal(v.Reason, actionVerify, "%s", v.Message))
	case "False":
		p.Conditions.False(kind, v.Reason, "%s", v.Message)
		p.EmitChange(kind, loop.Warning(v.Reason, actionVerify, "%s", v.Message))
	default:
		p.Conditions.Unknown(kind, v.Reason, "%s", v.Message)
		if alarming[v.Reason] {
			p.EmitChange(kind, loop.Warning(v.Reason, actionVerify, "%s", v.Message))
		}
	}
}
