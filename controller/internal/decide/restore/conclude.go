// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// mostClaims is how many claims one populator fills: its status has to hold them all.
const mostClaims = 400

// populate decides about every claim by itself: one that fails, waits or is full keeps no other one from its data (J-1).
// Conclude sums up.
func populate(w World, now time.Time) Plan {
	out := Plan{Status: *w.Restore.Status.DeepCopy()}
	out.Status.Conditions = nil
	if claims := named(w.Claims); claims > mostClaims {
		out.Carry = gateConditions
		out.Status.Phase = kopiurv1.RestoreFailed
		out.State, out.Reason = Stalled, kopiurv1.ReasonFanoutCapped
		out.Message = fmt.Sprintf("%d claims name this Restore, and at most %d are filled by one: make several Restores of it", claims, mostClaims)
		return out
	}
	d := &decision{World: w, now: now, plan: out}
	d.st = &d.plan.Status
	d.st.Failure = nil
	d.validate()
	if d.plan.State == Stalled && named(w.Claims) == 0 {
		d.plan.set(kopiurv1.ConditionAwaitingClaim, metav1.ConditionTrue, kopiurv1.ReasonAwaitingClaim, awaiting)
		return d.plan
	}
	sourceKind := d.st.SourceKind
	d.plan = out
	d.plan.Status.SourceKind = sourceKind
	busy := map[string]bool{}
	for _, c := range w.Claims {
		if busy[c.Name] {
			continue // an earlier claim of the name is tidied up first: there is one record for both
		}
		p := decideClaim(w, c, now)
		if c.Claim == nil && p.Record != nil {
			busy[c.Name] = true
		}
		d.plan.Claims = append(d.plan.Claims, p)
	}
	d.plan.Conclude(w)
	return d.plan
}

const awaiting = "no claim names this Restore: set spec.dataSourceRef of a PersistentVolumeClaim to it"

func named(claims []ClaimWorld) int {
	n := 0
	for _, c := range claims {
		if c.Claim != nil {
			n++
		}
	}
	return n
}

func (p *Plan) set(kind string, status metav1.ConditionStatus, reason, message string) {
	c := Condition{Type: kind, Status: status, Reason: reason, Message: message}
	if i := slices.IndexFunc(p.Conditions, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		p.Conditions[i] = c
		return
	}
	p.Conditions = append(p.Conditions, c)
}

// worse orders what conditions of several claims are summed up to.
var worse = map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionUnknown: 1, metav1.ConditionFalse: 2}

// Conclude sums up what the claims' plans say, after as much of them was carried out as could be. It may be called again.
func (p *Plan) Conclude(w World) {
	if p.Reason == kopiurv1.ReasonFanoutCapped || len(p.Claims) == 0 && p.Reason != "" && p.State == Stalled {
		return
	}
	st := &p.Status
	st.Claims, p.Conditions, p.Carry, p.Intent, p.After = nil, nil, nil, false, 0
	claims := 0
	for i := range p.Claims {
		c := &p.Claims[i]
		p.Intent = p.Intent || c.Plan.Intent
		if c.Plan.After > 0 && (p.After == 0 || c.Plan.After < p.After) {
			p.After = c.Plan.After
		}
		if c.Record != nil {
			if st.Claims == nil {
				st.Claims = map[string]kopiurv1.RestoreClaim{}
			}
			st.Claims[c.Name] = *c.Record
		}
		if c.Claim == nil {
			continue
		}
		claims++
		p.join(c, w.Restore.Status.Conditions)
	}
	p.single()
	if claims == 0 {
		p.set(kopiurv1.ConditionAwaitingClaim, metav1.ConditionTrue, kopiurv1.ReasonAwaitingClaim, awaiting)
		st.Phase = kopiurv1.RestorePending
		p.State, p.Reason, p.Message = Progressing, kopiurv1.ReasonAwaitingClaim, awaiting
		return
	}
	p.set(kopiurv1.ConditionAwaitingClaim, metav1.ConditionFalse, kopiurv1.ReasonClaimsObserved, fmt.Sprintf("%d claims name this Restore; status.claims says how far each is", claims))
	p.summary()
}

// join takes the conditions of one claim: of several the worst, with the claim's name.
func (p *Plan) join(c *ClaimPlan, stored []metav1.Condition) {
	for _, cond := range c.Plan.Conditions {
		i := slices.IndexFunc(p.Conditions, func(have Condition) bool { return have.Type == cond.Type })
		if i >= 0 && worse[p.Conditions[i].Status] >= worse[cond.Status] {
			continue
		}
		cond.Message = about(c.Name) + cond.Message
		p.set(cond.Type, cond.Status, cond.Reason, cond.Message)
	}
	if c.Record.Phase == kopiurv1.ClaimPopulated || len(c.Plan.Carry) > 0 {
		for _, s := range stored {
			// What is wrong about another claim is told by that one.
			own := s.Status == metav1.ConditionTrue || c.Record.Phase != kopiurv1.ClaimPopulated && strings.HasPrefix(s.Message, about(c.Name))
			if own && slices.Contains(gateConditions, s.Type) && !slices.Contains(p.Carry, s.Type) {
				p.Carry = append(p.Carry, s.Type)
			}
		}
	}
	if o := c.Record.Ownership; o != nil && o.Failed > 0 {
		p.set(kopiurv1.ConditionOwnershipApplied, metav1.ConditionFalse, kopiurv1.ReasonOwnershipIncomplete,
			fmt.Sprintf("claim %s: owner, mode or times of %d entries could not be set; status.claims names the first: run the mover as their uid, or with mover.privilegedMode", c.Name, o.Failed))
	} else if o != nil && o.Applied > 0 && !slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == kopiurv1.ConditionOwnershipApplied }) {
		p.set(kopiurv1.ConditionOwnershipApplied, metav1.ConditionTrue, kopiurv1.ReasonOwnershipApplied,
			fmt.Sprintf("claim %s: owner, mode and times of %d entries were set", c.Name, o.Applied))
	}
}

// single shows the one claim of a populator where people look for a restore's result.
func (p *Plan) single() {
	st := &p.Status
	st.Target, st.Progress, st.Ownership, st.Timing, st.Failure = nil, nil, nil, nil, nil
	var only *ClaimPlan
	for i := range p.Claims {
		c := &p.Claims[i]
		if t := c.Plan.Status.LogTail; t != "" {
			st.LogTail = t
		}
		if c.Claim == nil {
			continue
		}
		if c.Record.Failure != nil && st.Failure == nil {
			st.Failure = c.Record.Failure
		}
		if only != nil {
			only = &ClaimPlan{}
			continue
		}
		only = c
	}
	if only == nil || only.Record == nil {
		return
	}
	st.Target = &kopiurv1.RestoreTargetStatus{PVCRef: &kopiurv1.LocalRef{Name: only.Name}, PVCPrime: only.Record.PVCPrime}
	st.Progress, st.Ownership, st.Timing = only.Record.Progress, only.Record.Ownership, only.Record.Timing
}

// about begins what a condition says of one claim.
func about(claim string) string { return "claim " + claim + ": " }

// summary is the phase, and what kstatus makes of it. A claim that goes on outweighs one that has failed, and that one
// those which are full.
func (p *Plan) summary() {
	rank := func(c ClaimPlan) int {
		switch {
		case c.Claim == nil:
			return 0
		case c.Plan.State == Progressing:
			return 3
		case c.Plan.State == Stalled:
			return 2
		default:
			return 1
		}
	}
	first := slices.MaxFunc(p.Claims, func(a, b ClaimPlan) int { return rank(a) - rank(b) })
	p.State, p.Reason, p.Message = first.Plan.State, first.Plan.Reason, first.Plan.Message
	count := map[kopiurv1.ClaimPhase]int{}
	var full, bound int
	for _, c := range p.Claims {
		if c.Claim == nil {
			continue
		}
		count[c.Record.Phase]++
		if c.Record.Phase == kopiurv1.ClaimPopulated {
			full++
			if c.Record.Reason == kopiurv1.ReasonTargetAlreadyBound {
				bound++
			}
		}
	}
	st := &p.Status
	switch {
	case count[kopiurv1.ClaimRestoring]+count[kopiurv1.ClaimBinding] > 0:
		st.Phase = kopiurv1.RestoreRestoring
	case count[kopiurv1.ClaimResolving] > 0:
		st.Phase = kopiurv1.RestoreResolving
	case count[kopiurv1.ClaimPending] > 0:
		st.Phase = kopiurv1.RestorePending
	case count[kopiurv1.ClaimFailed] > 0:
		st.Phase = kopiurv1.RestoreFailed
	default:
		st.Phase = kopiurv1.RestoreCompleted
		if full > 1 && full > bound {
			p.Reason, p.Message = kopiurv1.ReasonRestoreSucceeded, fmt.Sprintf("%d claims have their volumes; status.claims says what each got", full)
		}
	}
	if n := count[kopiurv1.ClaimFailed]; n > 0 && p.State == Progressing {
		p.Message += fmt.Sprintf("; %d claims have failed, and status.claims says why", n)
	}
}
