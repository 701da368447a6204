// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Run is the Snapshot's own backup, where it is not over.
type Run struct {
	// Job is true while it has one that is not over.
	Job bool
	// Pods that have not ended. Those that a lost node keeps are not among them.
	Pods []string
	// Stored is what one of its movers reported as stored.
	Stored *work.SnapshotResult
}

// Batch is a Job that deletes a Snapshot's data with that of others.
type Batch struct {
	Name string
	UID  types.UID
	// Index of the Snapshot among its members.
	Index   int
	Outcome moverjob.Outcome
}

// World is one Snapshot that is being deleted, and what bears on it.
type World struct {
	Facts Facts
	Run   Run
	// Breaker is the verdict on the repository.
	Breaker breaker.Verdict
	// Gate says whether Jobs of the repository can run at all.
	Gate gates.Verdict
	// Batch, where there is one.
	Batch *Batch
}

// Action is the one thing to do next.
type Action string

// Actions.
const (
	// Rest: nothing to do.
	Rest Action = "Rest"
	// Prove: read the facts live and decide again.
	Prove Action = "Prove"
	// Stop: delete the Job of the Snapshot's own backup.
	Stop Action = "Stop"
	// Learn: record what its own backup stored.
	Learn Action = "Learn"
	// Release: remove the finalizer.
	Release Action = "Release"
	// Hold: say that it is held.
	Hold Action = "Hold"
	// Fail: record that the Job failed.
	Fail Action = "Fail"
	// Wait: say what is waited for.
	Wait Action = "Wait"
)

// Outcomes of a release, as the metric names them.
const (
	OutcomeDeleted  = "deleted"
	OutcomeGone     = "gone"
	OutcomeNothing  = "nothing-stored"
	OutcomeRetained = "retained"
	OutcomeOrphaned = "orphaned"
)

// Plan is the answer.
type Plan struct {
	Action          Action
	Reason, Message string
	// Outcome of a Release.
	Outcome string
	// After is when to look again; zero is when something changes.
	After time.Duration
	// Failure of the Job, for Fail.
	Failure kopiurv1.Failure
	// Stuck is true where nothing goes on before somebody acts.
	Stuck bool
}

const (
	// settle is when to look again for what a watch normally tells before.
	settle = 15 * time.Second
	// dueRecheck is when to ask again for one whose turn has come; the Job that takes it tells of itself.
	dueRecheck = time.Minute
	// startPatience is how long a pod may take to start before it is told why it does not.
	startPatience = 30 * time.Second
	// undecidedRetry is when to ask again for what could not be found out.
	undecidedRetry = 30 * time.Second
)

// MemberOf is how the breaker sees a Snapshot.
func MemberOf(s *kopiurv1.Snapshot) breaker.Member {
	m := breaker.Member{Prune: Prune(s)}
	if s.DeletionTimestamp != nil {
		m.DeletedAt = s.DeletionTimestamp.Time
	}
	for i := range s.Status.Conditions {
		if c := &s.Status.Conditions[i]; c.Type == kopiurv1.ConditionDeletionHeld {
			m.Held = c.Status == "True"
		}
	}
	return m
}

// Counts reports whether a Snapshot counts as a deletion that is pending. Only what the object itself says takes it out:
// its policy, schedule and namespace may be read wrongly, and one too many only holds earlier.
func Counts(s *kopiurv1.Snapshot) bool {
	if !Pending(s) || Skipped(s) || Discovered(s) || empty(s) {
		return false
	}
	_, kept := own(s)
	return !kept
}

// Pending reports whether a Snapshot is being deleted and waits for Kopiur.
func Pending(s *kopiurv1.Snapshot) bool {
	return s.DeletionTimestamp != nil && slices.Contains(s.Finalizers, kopiurv1.FinalizerSnapshot)
}

// empty reports whether a Snapshot is known to have stored nothing.
func empty(s *kopiurv1.Snapshot) bool {
	return s.Status.Snapshot == nil && s.Status.Phase.Terminal() && s.Status.Phase != kopiurv1.SnapshotDiscovered
}

// Next is total.
func Next(w World, server, now time.Time) Plan {
	s := w.Facts.Snapshot
	if s == nil || !Pending(s) {
		return Plan{Action: Rest}
	}
	v := Decide(w.Facts)
	switch {
	case v.Prove:
		return Plan{Action: Prove}
	case v.Policy == "":
		return Plan{Action: Wait, Reason: v.Reason, Message: v.Message, After: undecidedRetry}
	case v.Policy == kopiurv1.DeletionRetain:
		return Plan{Action: Release, Reason: v.Reason, Message: v.Message, Outcome: OutcomeRetained}
	case v.Policy == kopiurv1.DeletionOrphan:
		return Plan{Action: Release, Reason: v.Reason, Message: v.Message, Outcome: OutcomeOrphaned}
	}
	if p, done := stop(w); done {
		return p
	}
	return remove(w, server, now)
}

// stop brings the Snapshot's own backup to an end. What it stored meanwhile is learnt, so that it can be deleted.
func stop(w World) (Plan, bool) {
	s, r := w.Facts.Snapshot, w.Run
	if s.Status.Snapshot != nil {
		return Plan{}, false
	}
	if r.Stored != nil && r.Stored.SnapshotID != "" {
		return Plan{Action: Learn, Reason: kopiurv1.ReasonStoppingMover, Message: "the mover stored a snapshot before it ended"}, true
	}
	waits := Plan{Action: Wait, Reason: kopiurv1.ReasonStoppingMover, After: settle}
	switch {
	case r.Job:
		waits.Action, waits.Message = Stop, "the mover of this Snapshot is told to end"
		return waits, true
	case len(r.Pods) > 0:
		waits.Message = "waiting for the end of " + strings.Join(r.Pods, ", ")
		return waits, true
	}
	return Plan{
		Action: Release, Outcome: OutcomeNothing, Reason: kopiurv1.ReasonSnapshotDeleted,
		Message: "it has recorded nothing that was stored",
	}, true
}

// remove is the way of data to its deletion.
func remove(w World, server, now time.Time) Plan {
	s := w.Facts.Snapshot
	c := CandidateOf(s)
	if w.Batch != nil {
		if p, done := follow(w, *w.Batch); done {
			return p
		}
	}
	switch rests := c.Rests(now); {
	case w.Breaker.Holds(MemberOf(s)):
		return Plan{Action: Hold, Reason: kopiurv1.ReasonMassDeletionBreaker, Message: w.Breaker.Message, Stuck: true}
	case rests > 0:
		return failed(s.Status.Deletion, rests)
	case !w.Gate.Open:
		return Plan{Action: Wait, Reason: w.Gate.Reason, Message: "the stored data cannot be deleted now: " + w.Gate.Message}
	}
	_, after := Compose([]Candidate{c}, server, now)
	if after == 0 {
		// The Job that takes it tells of itself. Where none does, perhaps only the caches say that it may go.
		if after = dueRecheck - overdue(s, c, server, now); after <= 0 {
			if !w.Facts.Live {
				return Plan{Action: Prove}
			}
			after = dueRecheck
		}
	}
	return Plan{
		Action: Wait, Reason: kopiurv1.ReasonDeletionQueued, After: after,
		Message: "the stored data goes with the next Job that deletes from " + w.Facts.RepositoryName,
	}
}

// overdue is for how long a Snapshot could have gone: since the quiet after its deletion, the end of its hold, and that of
// the pause after a failure.
func overdue(s *kopiurv1.Snapshot, c Candidate, server, now time.Time) time.Duration {
	out := server.Sub(c.DeletedAt.Add(Quiet))
	for i := range s.Status.Conditions {
		if k := &s.Status.Conditions[i]; k.Type == kopiurv1.ConditionDeletionHeld {
			out = min(out, now.Sub(k.LastTransitionTime.Time))
		}
	}
	if c.Attempts > 0 && !c.FailedAt.IsZero() && !c.FailedAt.After(now) {
		out = min(out, now.Sub(c.FailedAt.Add(connect.Ladder(c.Attempts))))
	}
	return out
}

// Followed reports whether what a Job does for a Snapshot is all that matters to it.
func Followed(s *kopiurv1.Snapshot, b *Batch) bool {
	return b != nil && b.Outcome.State != moverjob.Absent && (s.Status.Deletion == nil || s.Status.Deletion.JobUID != string(b.UID))
}

// follow reads what a Job did for one of its members.
func follow(w World, b Batch) (Plan, bool) {
	d := w.Facts.Snapshot.Status.Deletion
	if d != nil && d.JobUID == string(b.UID) {
		return Plan{}, false // recorded; the Job is on its way out
	}
	o := b.Outcome
	switch o.State {
	case moverjob.Waiting, moverjob.Running, moverjob.NodeLost:
		p := Plan{Action: Wait, Reason: kopiurv1.ReasonDeletionRunning, Message: "Job " + b.Name + " deletes the stored data"}
		switch patient := moverjob.DefaultStartupDeadline - startPatience; {
		case o.State == moverjob.Running || o.Message == "":
		case o.Starting:
			p.After = o.Recheck
		case o.State == moverjob.Waiting && o.Recheck > patient:
			// Two hundred Snapshots need not tell of every step that a pod takes while it starts.
			p.After = o.Recheck - patient
		default:
			p.Message, p.After = p.Message+": "+o.Message, o.Recheck
		}
		return p, true
	case moverjob.ResultLost:
		if !o.Terminal {
			return Plan{Action: Wait, Reason: kopiurv1.ReasonDeletionRunning, Message: "Job " + b.Name + " is ending", After: settle}, true
		}
	case moverjob.Finished:
		if p, known := outcome(b); known {
			return p, true
		}
	case moverjob.Absent:
		return Plan{}, false
	case moverjob.Wedged, moverjob.DeadlineKilled:
	}
	return Plan{Action: Fail, Reason: kopiurv1.ReasonDeletionFailed, Failure: failure(o)}, true
}

// outcome is what the mover said of this member. Its letters count only with a code that a mover gives after its one
// write was done: with any other, nothing is known to be deleted.
func outcome(b Batch) (Plan, bool) {
	r := b.Outcome.Result
	if r == nil || r.Delete == nil || (r.Code != work.CodeOK && r.Code != work.CodeSnapshotMismatch) {
		return Plan{}, false
	}
	release := Plan{Action: Release, Reason: kopiurv1.ReasonSnapshotDeleted}
	switch letter, ok := r.Delete.Outcome(b.Index); {
	case !ok:
		return Plan{}, false
	case letter == work.DeleteDone:
		release.Outcome, release.Message = OutcomeDeleted, "the stored data was deleted by Job "+b.Name
		return release, true
	case letter == work.DeleteGone:
		release.Outcome, release.Message = OutcomeGone, "the stored data was not in the repository any more when Job "+b.Name+" looked for it"
		return release, true
	default:
		return Plan{Action: Fail, Reason: kopiurv1.ReasonDeletionFailed, Failure: kopiurv1.Failure{
			KopiaErrorClass: string(work.CodeSnapshotMismatch), Op: "delete",
			Message: "what is stored under its id, or with its identity and start time, is not certainly this snapshot, and was kept",
		}}, true
	}
}

// failure of a Job that left nothing deleted for sure. Its text has no name of a pod in it: with every attempt it is the
// same (acceptance J-6).
func failure(o moverjob.Outcome) kopiurv1.Failure {
	if f := moverjob.Failure(o); f != nil {
		f.Op = "delete"
		return *f
	}
	out := kopiurv1.Failure{KopiaErrorClass: string(work.CodeLost), Op: "delete", RetryRecommended: true, Message: o.Message}
	switch o.State {
	case moverjob.Wedged:
		out.KopiaErrorClass, out.Message = kopiurv1.ReasonMoverPodWedged, "the mover's pod did not start in time: "+o.Message
	case moverjob.DeadlineKilled:
		out.KopiaErrorClass = kopiurv1.ReasonDeadlineKilled
	case moverjob.Absent, moverjob.Waiting, moverjob.Running, moverjob.Finished, moverjob.ResultLost, moverjob.NodeLost:
	}
	if out.Message == "" {
		out.Message = "the mover left no result"
	}
	out.Message = work.Clip(out.Message, 1024)
	return out
}

// failed waits out the pause after a failure.
func failed(d *kopiurv1.DeletionStatus, rests time.Duration) Plan {
	p := Plan{Action: Wait, Reason: kopiurv1.ReasonDeletionFailed, After: rests, Message: FailedMessage(d)}
	// A refusal does not pass by itself, although it is tried again.
	p.Stuck = !d.Failure.RetryRecommended
	return p
}

// FailedMessage says what went wrong and what to do.
func FailedMessage(d *kopiurv1.DeletionStatus) string {
	return fmt.Sprintf("the stored data could not be deleted (%s: %s). It is tried again by itself; to let this object go and keep the data, annotate it with %s",
		d.Failure.KopiaErrorClass, d.Failure.Message, kopiurv1.AnnotationSkipSnapshotCleanup)
}

// Record adds a failure to what is known of earlier ones.
func Record(d *kopiurv1.DeletionStatus, b Batch, f kopiurv1.Failure, now time.Time) *kopiurv1.DeletionStatus {
	out := &kopiurv1.DeletionStatus{Job: b.Name, JobUID: string(b.UID), Attempts: 1, FailedAt: now.UTC().Format(time.RFC3339), Failure: f}
	if d != nil {
		out.Attempts = d.Attempts + 1
	}
	return out
}
