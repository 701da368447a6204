// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
)

// Owes reports whether hooks before the snapshot were begun and those after it have not all run. Nothing ends such a
// Snapshot before they have.
func Owes(s *kopiurv1.Snapshot) bool {
	h := s.Status.Hooks
	return h != nil && h.PreStartedAt != "" && h.PostCompletedAt == ""
}

// HasHooks reports whether a policy has any.
func HasHooks(p *kopiurv1.SnapshotPolicy) bool {
	return p != nil && p.Spec.Hooks != nil && len(p.Spec.Hooks.BeforeSnapshot)+len(p.Spec.Hooks.AfterSnapshot) > 0
}

// hooks runs the hooks before the snapshot, once; the Snapshot that cuts runs them for all whose claims are cut together. A
// list that was begun and not ended by this controller's predecessor is not run again: nobody knows how far it came, and
// freezing twice is not freezing once.
func (g *walk) hooks() {
	const kind = kopiurv1.ConditionHooksSucceeded
	if group.Waits(g.w.Snapshot) {
		return // they ran around the cut, which is another Snapshot's
	}
	h := g.w.Snapshot.Status.Hooks
	if g.p.Reopened {
		h = nil
	}
	switch {
	case h != nil && h.PreCompletedAt != "":
		if was := find(g.w.Snapshot.Status.Conditions, kind); was != nil {
			g.p.Conditions = append(g.p.Conditions, *was) // it names what was tolerated
			return
		}
		g.pass(kind, kopiurv1.ReasonHooksSucceeded, "the hooks before the snapshot have run")
	case h != nil && h.PreStartedAt != "":
		g.fail(kind, OpPrepare, kopiurv1.ReasonPreHookInterrupted,
			"the controller was restarted while the hooks before the snapshot ran; those after it were run: create another Snapshot")
	case HasHooks(g.w.Policy):
		g.p.Action, g.p.Phase, g.done = Hook, kopiurv1.SnapshotPending, true
	}
}

// FailHook turns the plan to run hooks into that of their failure.
func FailHook(p Plan, message string) Plan {
	p = fail(p, OpPrepare, reasoned{kopiurv1.ReasonPreHookFailed, message})
	return p
}
