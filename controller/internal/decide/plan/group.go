// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
)

// together holds a Snapshot whose claim is cut by another one of its run until that is done. It takes no slot meanwhile: the
// one that cuts may wait for it.
func (g *walk) together() {
	s := g.w.Snapshot
	name := group.Of(s)
	switch {
	case name == "" || s.Status.Staged != nil:
	case methodOf(g.w) != kopiurv1.CopySnapshot:
		g.fail(kopiurv1.ConditionSourceStaged, OpPrepare, kopiurv1.ReasonGroupSnapshotUnsupported,
			"this run's claims are cut with VolumeGroupSnapshot %s, and SnapshotPolicy %s says copyMethod: %s by now: start another run", name, g.w.Policy.Name, methodOf(g.w))
	case group.Waits(s):
		g.cut()
	}
}

// cut reports whether the claim was cut with the others of its run. Where not, it says what comes next.
func (g *walk) cut() bool {
	const kind = kopiurv1.ConditionSourceStaged
	if g.ask(AskGroup) {
		return false
	}
	st := g.w.Group
	st.Timeout = StagingTimeout(g.w.Policy)
	v := group.Next(st, g.w.server(g.now))
	switch v.Step {
	case group.Ready:
		return true
	case group.Refused:
		g.refuse(v.Reason, v.Message)
	case group.Failed:
		g.fail(kind, OpStage, v.Reason, "%s", v.Message)
	case group.Await:
		g.hold(kind, v.Reason, v.Recheck, "%s", v.Message)
	case group.Label, group.Create:
		g.hold(kind, v.Reason, v.Recheck, "%s", v.Message)
		g.p.Action, g.p.Group = Cut, v
	}
	return false
}
