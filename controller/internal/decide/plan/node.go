// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// node sends a mover that reads a live ReadWriteOnce volume to the node that holds it: on another one its pod would hang
// until the application stops. A volume that only some nodes can reach is the scheduler's business.
func (g *walk) node() {
	mode := kopiurv1.ColocationAuto
	if d := g.w.Repository.Spec.MoverDefaults; d != nil && d.SourceColocation != nil && d.SourceColocation.Mode != "" {
		mode = d.SourceColocation.Mode
	}
	if mode == kopiurv1.ColocationDisabled || g.w.Source == nil || methodOf(g.w) != kopiurv1.CopyDirect || !oneNode(g.w.Source) || g.ask(AskPods) {
		return
	}
	for i := range g.w.Neighbours {
		p := &g.w.Neighbours[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if p.Spec.NodeName != "" && !ended && mountsClaim(p, g.w.Source.Name) {
			moverjob.SendTo(g.p.Job, p.Spec.NodeName, p.Spec.Tolerations)
			return
		}
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

// oneNode reports whether all that use a claim have to be on one node.
func oneNode(c *corev1.PersistentVolumeClaim) bool {
	shared := slices.ContainsFunc(c.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
	return !shared && slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOnce)
}
