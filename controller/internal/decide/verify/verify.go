// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify decides when what a policy has stored is verified, and what came of it. A verification has two tiers,
// and each is run for each of the policy's repositories: such a pair is a line.
//
// A line knows three outcomes. Unproven is the third: a store that does not answer says nothing about the data, and a
// verification that never gets to an answer must look neither like a success nor like damage.
package verify

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// Operation is what these Jobs are labelled with.
	Operation = "verify"
	// letter starts their names.
	letter = "p"
	// retry is the rest after a run that came to no answer.
	retry = time.Hour
	// look is when a gate is looked at again that no watch tells of.
	look = 5 * time.Minute
	// turn is when to look whether the others have ended; their end tells it earlier.
	turn = time.Minute
)

// World is all that is known of one line.
type World struct {
	Policy *kopiurv1.SnapshotPolicy
	Tier   kopiurv1.VerificationTier
	Ref    kopiurv1.RepositoryRef
	// Repository is nil where it does not exist; Allowed whether the policy's namespace may use it.
	Repository *moverjob.Repository
	Allowed    bool
	// Identities are what the policy files snapshots under; none where they are not known.
	Identities []kopiurv1.Identity
	// History: at least one snapshot was made, or found.
	History bool
	// Gates are what the mover needs where it runs. They are known only where a run may start.
	Gates []gates.Verdict
	// Busy names the verification that reads from the same repository, "" where there is none.
	Busy string
	// Job is that of the turn that is due, with what its pods say; nil where there is none.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	// Check is what the user's own program says.
	Check Check
	// LogTail is the end of its log, where it failed.
	LogTail string
}

// Seconds that a verification may take where nobody says otherwise: a day.
const deadlineSeconds = int64(24 * 3600)

// Plan is what is to be done for one line.
type Plan struct {
	// Run is what the status says from now on.
	Run kopiurv1.VerificationRun
	// Stamp is the end of a success, "" where there is none to record.
	Stamp string
	// Start asks for the Job.
	Start bool
	// Recorded: the Job's result is in Run, and the Job may go once that is stored.
	Recorded bool
	// After is when to look again, zero where only a change can matter.
	After time.Duration
	// Waiting is why a turn that is due has not started or has not ended.
	Waiting gates.Verdict
}

// Spec of the schedule of a tier, nil where the policy does not have the tier.
func Spec(p *kopiurv1.SnapshotPolicy, tier kopiurv1.VerificationTier) *kopiurv1.CronSpec {
	v := p.Spec.Verification
	switch {
	case v == nil:
		return nil
	case tier == kopiurv1.VerificationQuick && v.Quick != nil:
		return v.Quick.Schedule
	case tier == kopiurv1.VerificationDeep && v.Deep != nil:
		return &v.Deep.Schedule
	default:
		return nil
	}
}

// Of is what the policy's status has of a line.
func Of(p *kopiurv1.SnapshotPolicy, tier kopiurv1.VerificationTier, ref kopiurv1.RepositoryRef) kopiurv1.VerificationRun {
	for _, r := range p.Status.VerificationRuns {
		if r.Tier == tier && r.Repository.In(p.Namespace) == ref {
			r.Repository = ref
			return r
		}
	}
	return kopiurv1.VerificationRun{Tier: tier, Repository: ref}
}

// JobName of the turn that is pinned; "" where none is.
func JobName(p *kopiurv1.SnapshotPolicy, run kopiurv1.VerificationRun) string {
	if run.NextScheduledAt == "" {
		return ""
	}
	return moverjob.Name(letter, p.Name, p.UID, Operation, attempt(run))
}

func attempt(run kopiurv1.VerificationRun) string {
	return string(run.Tier) + "/" + mapper.Repository(run.Repository) + "/" + run.NextScheduledAt
}

// Due reports whether the pinned turn has come, and with it whether there can be a Job.
func Due(run kopiurv1.VerificationRun, now time.Time) bool {
	pin := due.Read(run.NextScheduledAt, run.Schedule)
	return !pin.At.IsZero() && !now.Before(pin.At)
}

// Decide is total: it has an answer for every state of a line.
func Decide(w World, now time.Time) Plan {
	run := Of(w.Policy, w.Tier, w.Ref)
	rule, err := ruleOf(w)
	if err != nil {
		return Unreadable(run, fmt.Sprintf("spec.verification.%s.schedule: %s", w.Tier, err))
	}
	return Line{
		Run: run, Rule: rule, Job: w.Job, Outcome: w.Outcome, Gate: w.gate, Judge: w.judge,
		Name: func(run kopiurv1.VerificationRun) string { return JobName(w.Policy, run) },
	}.Decide(now)
}

func ruleOf(w World) (due.Rule, error) {
	var defaults *kopiurv1.ScheduleDefaults
	if w.Repository != nil {
		defaults = w.Repository.Spec.ScheduleDefaults
	}
	spec := Spec(w.Policy, w.Tier)
	if spec == nil {
		spec = &kopiurv1.CronSpec{}
	}
	// Each line has a delay of its own: the tiers and repositories of one policy do not start together.
	uid := string(w.Policy.UID) + "/" + string(w.Tier) + "/" + mapper.Repository(w.Ref)
	return due.Parse(*spec, "", defaults, w.Policy.Namespace+"/"+w.Policy.Name, uid) //nolint:wrapcheck // by the caller
}

// gate is why a turn that is due may not start.
func (w World) gate() gates.Verdict {
	if w.Policy.Spec.Suspend {
		return gates.Verdict{Reason: kopiurv1.ReasonSuspended, Message: "spec.suspend is true: no verification is started"}
	}
	if v := gates.Repository(w.Ref.String(), w.Repository, w.Allowed); !v.Open {
		return v
	}
	if !w.History {
		return gates.Verdict{Reason: kopiurv1.ReasonWaitingForFirstSnapshot, Message: "there is no snapshot to verify yet"}
	}
	if len(w.Identities) == 0 {
		return gates.Verdict{Reason: kopiurv1.ReasonIdentityUnresolved, Message: "the identity that the snapshots lie under is not known; the condition Ready says why"}
	}
	for _, v := range w.Gates {
		if !v.Open {
			return v
		}
	}
	if w.Busy != "" {
		return gates.Verdict{Reason: kopiurv1.ReasonVerificationWaiting, Message: "another verification reads from " + w.Ref.String() + ": " + w.Busy}
	}
	return gates.Verdict{Open: true}
}

// HasCheck reports whether a program of the user's own has the last word.
func HasCheck(p *kopiurv1.SnapshotPolicy, tier kopiurv1.VerificationTier) bool {
	return tier == kopiurv1.VerificationDeep && p.Spec.Verification != nil && p.Spec.Verification.Deep != nil && p.Spec.Verification.Deep.Check != nil
}

// alive are the pods that have not ended.
func alive(p corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}
