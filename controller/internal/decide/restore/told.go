// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// milestones are what a claim is told of besides what keeps it waiting.
var milestones = []string{
	kopiurv1.ReasonMoverStarting, kopiurv1.ReasonClaimBinding, kopiurv1.ReasonRestoreSucceeded, kopiurv1.ReasonNoSnapshotContinue, kopiurv1.ReasonReopened,
}

// Told is the event about a claim, where something has changed: a milestone, or what keeps it from its data.
func Told(stored kopiurv1.RestoreClaim, p ClaimPlan) (Note, bool) {
	if p.Record == nil || stored.UID == p.Record.UID && stored.Reason == p.Record.Reason {
		return Note{}, false
	}
	n := Note{Reason: p.Record.Reason, Message: p.Record.Message}
	closed := slices.ContainsFunc(p.Plan.Conditions, func(c Condition) bool {
		return c.Reason == n.Reason && (c.Status == metav1.ConditionFalse || c.Reason == kopiurv1.ReasonResolutionUnknown)
	})
	n.Warning = closed || p.Plan.State == Stalled || n.Reason == kopiurv1.ReasonVolumeNotOurs
	return n, n.Warning || slices.Contains(milestones, n.Reason)
}
