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
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// soon is the safety net behind a transition whose own event wakes the reconciler.
	soon = time.Second
	// recheck is how often something is looked at that no watch tells about: foreign pods, a lost node.
	recheck = time.Minute
	// firstRest and longestRest bound the time between two questions to a repository that does not answer.
	firstRest   = 30 * time.Second
	longestRest = 30 * time.Minute
	// maxLost is how many movers of one restore may disappear with their result.
	maxLost = 3
)

// gateConditions in the order in which they are passed.
var gateConditions = []string{
	kopiurv1.ConditionReferentAvailable, kopiurv1.ConditionRepositoryReady, kopiurv1.ConditionCredentialsAvailable,
	kopiurv1.ConditionResolved, kopiurv1.ConditionTargetAvailable,
	kopiurv1.ConditionSecurityContextResolved, kopiurv1.ConditionSecurityContextInherited, kopiurv1.ConditionMoverPermitted,
}

// Decide returns the next move. It is total, and deciding twice on the same world gives the same plan.
func Decide(w World, now time.Time) Plan {
	if Populates(w.Restore) {
		return populate(w, now)
	}
	d := &decision{World: w, now: now, plan: Plan{Status: *w.Restore.Status.DeepCopy()}}
	d.plan.Status.Conditions = nil
	d.st = &d.plan.Status
	d.plan.TTL = moverjob.TTL(d.repository(), w.Restore.Spec.Mover)
	for _, step := range []func() bool{
		d.over,         // nothing to do any more
		d.running,      // a mover is at work, or has ended
		d.validate,     // the spec makes sense
		d.referent,     // what it names exists
		d.reachable,    // the repository may be used
		d.credentials,  // its Secrets are here
		d.resolve,      // which snapshot
		d.target,       // the claim may be written
		d.user,         // it is known as whom
		d.startRestore, // write it
	} {
		if step() {
			break
		}
	}
	return d.plan
}

type decision struct {
	World
	now  time.Time
	plan Plan
	st   *kopiurv1.RestoreStatus
	// inherited is the user that the mover takes over.
	inherited *moverjob.Layer
	// ended is set once an attempt's end was found in this decision.
	ended bool

	// claim is set where one claim of a populator is decided about, and original is the Restore as its user wrote it.
	claim    *ClaimWorld
	original *kopiurv1.Restore
	// volume is what is handed over to the claim, and populated is set once the claim is bound.
	volume    string
	populated bool
	handover  *Handover
	leftover  Leftover
}

// repository is the repository, or one that says nothing.
func (d *decision) repository() moverjob.Repository {
	if d.Repository == nil {
		return moverjob.Repository{}
	}
	return *d.Repository
}

func (d *decision) set(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	c := Condition{Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	if i := slices.IndexFunc(d.plan.Conditions, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		d.plan.Conditions[i] = c
		return
	}
	d.plan.Conditions = append(d.plan.Conditions, c)
}

// gate sets a condition from a verdict and reports whether it is closed.
func (d *decision) gate(kind string, v gates.Verdict) bool {
	status := metav1.ConditionFalse
	if v.Open {
		status = metav1.ConditionTrue
	}
	d.set(kind, status, v.Reason, "%s", v.Message)
	return !v.Open
}

func (d *decision) sum(state State, after time.Duration, reason, format string, args ...any) bool {
	d.plan.State, d.plan.After, d.plan.Reason, d.plan.Message = state, after, reason, fmt.Sprintf(format, args...)
	return true
}

// wait ends the decision: it goes on by itself. Before anything ran the phase is Pending.
func (d *decision) wait(after time.Duration, reason, format string, args ...any) bool {
	if d.st.Phase != kopiurv1.RestoreResolving && d.st.Phase != kopiurv1.RestoreRestoring {
		d.st.Phase = kopiurv1.RestorePending
	}
	return d.sum(Progressing, after, reason, format, args...)
}

// refuse ends the decision: nothing changes until somebody acts. Without status.failure it is looked at anew each time.
func (d *decision) refuse(reason, format string, args ...any) bool {
	d.st.Phase, d.st.Failure = kopiurv1.RestoreFailed, nil
	return d.sum(Stalled, 0, reason, format, args...)
}

// fail ends the Restore. It reopens when its spec or its credentials change.
func (d *decision) fail(reason string, f kopiurv1.Failure) bool {
	d.st.Phase, d.st.Failure = kopiurv1.RestoreFailed, &f
	if !d.ended {
		// No attempt failed, but what is there now: that is what has to change.
		if d.st.Job == nil {
			d.st.Job = &kopiurv1.RestoreJob{}
		}
		d.st.Job.Generation = d.Restore.Generation
		d.st.ResolvedCredentialVersion = d.Credentials.Version
	}
	return d.sum(Stalled, 0, reason, "%s", f.Message)
}

func (d *decision) note(warning bool, reason, format string, args ...any) {
	d.plan.Notes = append(d.plan.Notes, Note{Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (d *decision) stored(kind string) *metav1.Condition {
	list := d.Restore.Status.Conditions
	if i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == kind }); i >= 0 {
		return &list[i]
	}
	return nil
}

func (d *decision) stamp() string { return d.now.UTC().Format(time.RFC3339) }

// over passes a Restore that is final, and opens again a failed one whose spec or credentials changed.
func (d *decision) over() bool {
	phase := d.st.Phase
	if !Holds(d.World) {
		if phase == kopiurv1.RestoreFailed {
			d.reopen()
		}
		return false
	}
	d.tidy()
	d.plan.Keep = true
	ready, stalled := d.stored(kopiurv1.ConditionReady), d.stored(kopiurv1.ConditionStalled)
	switch {
	case phase == kopiurv1.RestoreCompleted && (ready == nil || ready.Status != metav1.ConditionTrue):
		// Written by another version: the conditions follow the phase.
		d.plan.Keep, d.plan.Carry = false, append([]string{kopiurv1.ConditionOwnershipApplied}, gateConditions...)
		return d.sum(Ready, 0, d.completedReason(), "the restore is complete")
	case phase == kopiurv1.RestoreFailed && (stalled == nil || stalled.Status != metav1.ConditionTrue):
		d.plan.Keep, d.plan.Carry = false, append([]string{kopiurv1.ConditionOwnershipApplied}, gateConditions...)
		return d.sum(Stalled, 0, kopiurv1.ReasonRestoreFailed, "%s", d.st.Failure.Message)
	case phase == kopiurv1.RestoreFailed:
		d.plan.State = Stalled
	default:
		d.plan.State = Ready
	}
	return true
}

func (d *decision) completedReason() string {
	if d.st.Resolved != nil && d.st.Resolved.Resolution == kopiurv1.ResolutionNoSnapshot {
		return kopiurv1.ReasonNoSnapshotContinue
	}
	return kopiurv1.ReasonRestoreSucceeded
}

// reopen forgets the failure and keeps the pin.
func (d *decision) reopen() {
	if d.st.Failure != nil {
		d.note(false, kopiurv1.ReasonReopened, "the spec or the credentials changed: trying again")
	}
	d.st.Phase, d.st.Failure, d.st.WaitStartedAt = kopiurv1.RestorePending, nil, ""
	d.st.Progress, d.st.Ownership, d.st.Timing, d.st.LogTail = nil, nil, nil, ""
	if d.st.Job != nil {
		d.st.Job.Fruitless = 0
	}
}

// tidy deals with a Job whose end is recorded, and reports whether it still stands in the way of another.
func (d *decision) tidy() (busy bool) {
	if d.Job == nil || InFlight(d.Restore) {
		return false
	}
	switch s := d.Outcome.State; {
	case d.Outcome.Terminal, s == moverjob.Finished, s == moverjob.ResultLost, s == moverjob.DeadlineKilled:
		if d.Job.Spec.TTLSecondsAfterFinished == nil {
			d.plan.Retire = d.Job
		}
		return !d.Outcome.Terminal
	default:
		// Given up on (a pod that did not start): its pod must not come to life later.
		d.plan.Reap = d.Job
		return true
	}
}

// reachable passes once the repository may be used from this namespace.
func (d *decision) reachable() bool {
	ref := RepositoryRef(d.Restore, d.Snapshot, d.Policy)
	if ref == nil {
		d.set(kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonMissingDependency,
			"nothing says which repository holds the snapshot: set spec.repository")
		return d.wait(0, kopiurv1.ReasonMissingDependency, "nothing says which repository holds the snapshot: set spec.repository")
	}
	allowed := d.Repository != nil && d.Repository.Allowed.Allows(d.Restore.Namespace, d.NamespaceLabels)
	v := gates.Repository(ref.String(), d.Repository, allowed)
	if v.Open && !d.Volume.Open {
		v = d.Volume
	}
	if !d.gate(kopiurv1.ConditionRepositoryReady, v) {
		return false
	}
	if v.Reason == kopiurv1.ReasonNamespaceNotAllowed {
		return d.refuse(v.Reason, "%s", v.Message)
	}
	return d.wait(0, v.Reason, "%s", v.Message)
}

// credentials passes once everything a mover mounts is here, and not with Secrets that a mover found wanting.
func (d *decision) credentials() bool {
	if d.gate(kopiurv1.ConditionCredentialsAvailable, d.Credentials.Verdict) {
		var after time.Duration
		if d.repository().Projected != "" {
			after = recheck // Secrets of another namespace wake nobody here
		}
		return d.wait(after, d.Credentials.Reason, "%s", d.Credentials.Message)
	}
	f := d.st.Failure
	if f != nil && f.KopiaErrorClass == classMissingCredentials && d.st.ResolvedCredentialVersion == d.Credentials.Version {
		d.set(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret, "%s", f.Message)
		d.set(kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown, "%s", f.Message)
		d.plan.Carry = append(d.plan.Carry, kopiurv1.ConditionMoverPermitted)
		d.tidy()
		return d.wait(0, kopiurv1.ReasonMissingCredentialsSecret, "%s", f.Message)
	}
	return false
}

func quoted(list []string) string { return strings.Join(list, ", ") }
