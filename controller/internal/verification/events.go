// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verification tells of verifications, whoever asked for them: a policy, or a replication about its copy.
package verification

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// action is what Kopiur does in events about verifications.
const action = "Verify"

// alarming are reasons of the condition Verified that people should hear of although it is not False.
var alarming = map[string]bool{kopiurv1.ReasonVerificationUnproven: true, kopiurv1.ReasonScratchNotWritable: true}

// Announce sets the condition Verified, with an event when it changes.
func Announce(p *loop.Patcher, v verify.Verdict) {
	kind := kopiurv1.ConditionVerified
	switch v.Status {
	case "True":
		p.Conditions.True(kind, v.Reason, "%s", v.Message)
		p.EmitChange(kind, loop.Normal(v.Reason, action, "%s", v.Message))
	case "False":
		p.Conditions.False(kind, v.Reason, "%s", v.Message)
		p.EmitChange(kind, loop.Warning(v.Reason, action, "%s", v.Message))
	default:
		p.Conditions.Unknown(kind, v.Reason, "%s", v.Message)
		if alarming[v.Reason] {
			p.EmitChange(kind, loop.Warning(v.Reason, action, "%s", v.Message))
		}
	}
}
