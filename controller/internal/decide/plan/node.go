// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// node sends a mover that reads a live ReadWriteOnce volume to the node that holds it: on another one its pod would hang
// until the application stops. A volume that only some nodes can reach is the scheduler's business.
func (g *walk) node() {
	mode := workload.Colocation(*g.w.Repository)
	if mode == kopiurv1.ColocationDisabled || g.w.Source == nil || methodOf(g.w) != kopiurv1.CopyDirect || !workload.OneNode(g.w.Source) || g.ask(AskPods) {
		return
	}
	if p := workload.Holder(g.w.Neighbours, g.w.Source.Name); p != nil {
		moverjob.SendTo(g.p.Job, p.Spec.NodeName, p.Spec.Tolerations)
		return
	}
	if g.ask(AskAttachment) {
		return
	}
	switch {
	case g.w.Attached != "":
		moverjob.SendTo(g.p.Job, g.w.Attached, nil)
	case mode == kopiurv1.ColocationRequired && !g.begun():
		g.p.Conditions = slices.DeleteFunc(g.p.Conditions, isSlot) // not while it cannot use it
		g.hold("", kopiurv1.ReasonSourceNodeUnknown, neighbourRecheck,
			"claim %s is used on no node, and sourceColocation.mode Required sends the mover to the one that holds it: start the application, or set the mode to Auto", g.w.Source.Name)
	}
}
