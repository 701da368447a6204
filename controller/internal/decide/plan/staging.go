// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// methodOf is how the source is copied. An absent method is the API's default, and what is no claim cannot be copied.
func methodOf(w World) kopiurv1.CopyMethod {
	switch {
	case SourceOf(w.Snapshot, w.Policy).PVC == nil:
		return kopiurv1.CopyDirect
	case w.Policy.Spec.CopyMethod == "":
		return kopiurv1.CopySnapshot
	default:
		return w.Policy.Spec.CopyMethod
	}
}

// serves reports whether a copy is the one that the policy asks for now. One of another claim must never be used: its
// data would be filed as that of the new one, and a restore would put it there.
func serves(w World, staged kopiurv1.Staged) bool {
	if staged.CopyMethod != methodOf(w) {
		return false
	}
	r := w.Snapshot.Status.Resolved
	return r == nil || len(r.Sources) == 0 || r.Sources[0].PVC == ResolvedOf(w.Snapshot, w.Policy).Sources[0].PVC
}

// staging is the last gate: behind it the mover starts.
func (g *walk) staging() {
	const kind = kopiurv1.ConditionSourceStaged
	staged, method := g.w.Snapshot.Status.Staged, methodOf(g.w)
	if staged != nil && !serves(g.w, *staged) {
		g.p = unstage(g.w, g.p)
		g.hold2(kind, "the policy was changed while the copy was made: the copy for copyMethod "+string(staged.CopyMethod)+" is being removed")
		return
	}
	if method == kopiurv1.CopyDirect {
		g.start()
		return
	}
	pinned := kopiurv1.Staged{}
	if staged != nil {
		pinned = *staged
		if pinned.VolumeSnapshotName != "" && g.w.StagedClaim == nil && g.ask(AskVolumeSnapshot) {
			return
		}
	} else {
		if group.Of(g.w.Snapshot) != "" && !g.cut() {
			return
		}
		choice, ok := g.choose()
		if !ok {
			return
		}
		g.p.Choice = &choice
		pinned = Pin(g.w.Snapshot, g.w.Policy, choice)
	}
	if pinned.VolumeGroupSnapshotName != "" && g.w.Group.Member != nil {
		g.w.VolumeSnapshot = g.w.Group.Member
	}
	v := staging.Next(stagingState(g.w, pinned), g.w.server(g.now))
	switch v.Step {
	case staging.Usable:
		g.pass(kind, v.Reason, "%s", v.Message)
		g.start()
	case staging.Failed:
		g.fail(kind, OpStage, v.Reason, "%s", v.Message)
	case staging.CreateSnapshot, staging.CreateClaim:
		if staged != nil && v.Step == staging.CreateSnapshot {
			// The class is not part of what was stored: choose again.
			choice, ok := g.choose()
			if !ok {
				return
			}
			g.p.Choice = &choice
		}
		g.hold(kind, v.Reason, v.Recheck, "%s", v.Message)
		g.p.Action, g.p.Staging = Stage, v
	case staging.AwaitClaim:
		if !g.ask(AskClaimEvent) {
			g.hold(kind, v.Reason, v.Recheck, "%s", v.Message)
		}
	case staging.AwaitSnapshot, staging.Blocked:
		g.hold(kind, v.Reason, v.Recheck, "%s", v.Message)
	}
}

// hold2 keeps an action that was decided already and says what is waited for.
func (g *walk) hold2(kind, message string) {
	if g.p.Ask != 0 {
		g.done = true
		return
	}
	action := g.p.Action
	g.hold(kind, kopiurv1.ReasonWaitingForVolumeSnapshot, 0, "%s", message)
	g.p.Action = action
}

// choose picks the classes. What it refuses may be mended in the cluster, so it is a wait with a deadline.
func (g *walk) choose() (staging.Choice, bool) {
	if g.ask(AskVolume) {
		return staging.Choice{}, false
	}
	in := g.w.Volume
	in.Method, in.SnapshotClassName, in.Staging, in.Claim = methodOf(g.w), g.w.Policy.Spec.VolumeSnapshotClassName, g.w.Policy.Spec.Staging, g.w.Source
	name := group.Of(g.w.Snapshot)
	in.Grouped = name != ""
	choice, refusal := staging.Choose(in)
	if refusal != nil {
		g.refuse(refusal.Reason, refusal.Message)
		return choice, false
	}
	if name != "" {
		choice.Group, choice.Snapshot = name, g.w.Group.Member.Name
	}
	return choice, true
}

// refuse waits for what may be mended in the cluster, until the deadline.
func (g *walk) refuse(reason, message string) {
	const kind = kopiurv1.ConditionSourceStaged
	timeout := StagingTimeout(g.w.Policy)
	left := timeout
	if was := find(g.w.Snapshot.Status.Conditions, kind); was != nil && was.Status == metav1.ConditionFalse && !g.p.Reopened {
		left -= g.now.Sub(was.LastTransitionTime.Time)
	}
	if timeout > 0 && left <= 0 {
		g.fail(kind, OpStage, reason, "%s", message)
		return
	}
	after := refusalRecheck
	if timeout > 0 {
		after = min(after, left)
	}
	g.hold(kind, reason, after, "%s", message)
}

func (g *walk) start() {
	if KeptCacheOf(g.w) != nil && g.ask(AskCache) {
		return
	}
	g.p.Action, g.p.Phase, g.done = Start, kopiurv1.SnapshotPending, true
}
