// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"fmt"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// follow looks at the run that is under way.
func (d *decision) follow() {
	d.p.Carry = append(d.p.Carry, kopiurv1.ConditionCredentialsAvailable, kopiurv1.ConditionMoverPermitted, kopiurv1.ConditionRepositorySlotAvailable)
	d.p.Status.Phase = kopiurv1.ReplicationReplicating
	d.p.Trigger = d.p.Status.Run.Trigger
	if text := d.Replication.Annotations[kopiurv1.AnnotationRunRequested]; text != "" && d.p.Trigger != kopiurv1.TriggerManual {
		d.requested() // it comes after this one
	}
	o := d.Outcome
	switch o.State {
	case moverjob.Absent:
		d.again()
	case moverjob.Waiting, moverjob.Running:
		d.working()
	case moverjob.NodeLost:
		// Two movers at once would copy everything twice.
		d.say(Progressing, kopiurv1.ReasonNodeLost, o.Message)
		d.p.After = look
	case moverjob.Finished:
		d.told()
	case moverjob.ResultLost, moverjob.Wedged, moverjob.DeadlineKilled:
		d.p.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: lostAs(o.State), Message: work.Clip(o.Message, 1024), RetryRecommended: true, Op: operation}
		d.failed()
	}
}

func lostAs(s moverjob.State) string {
	switch s {
	case moverjob.Wedged:
		return kopiurv1.ReasonMoverPodWedged
	case moverjob.DeadlineKilled:
		return kopiurv1.ReasonDeadlineKilled
	default:
		return string(work.CodeLost)
	}
}

// again makes the Job of a run that has none: it was not made yet, or somebody deleted it.
func (d *decision) again() {
	if d.Replication.Spec.Suspend {
		d.say(Progressing, kopiurv1.ReasonSuspended, "spec.suspend is true: the run goes on after that")
		return
	}
	if d.held() {
		return
	}
	d.start(*d.p.Status.Run)
}

// restart makes a run again whose spec was edited while its mover was at work. Of what that one copied nothing is lost: the
// next one finds it there.
func (d *decision) restart() {
	turn := *d.p.Status.Run
	turn.Attempt, turn.Part, turn.Cursor = turn.Attempt+1, 1, ""
	d.p.Status.Run = &turn
	d.p.Notes = append(d.p.Notes, Note{false, kopiurv1.ReasonReplicating, "the spec was edited while the mover was at work: the run is made again by the new one"})
	d.again()
}

func (d *decision) working() {
	o := d.Outcome
	if p := d.Tail.StatusProgress(); p != nil {
		d.p.Status.Progress = p
	}
	message := d.copying()
	if o.State == moverjob.Waiting && !o.Starting {
		message = o.Message
	}
	d.say(Progressing, kopiurv1.ReasonReplicating, message)
	d.p.After = look
	if o.State == moverjob.Running {
		d.p.After = work.ProgressInterval(d.ranFor())
	}
	if o.Recheck > 0 {
		d.p.After = min(d.p.After, o.Recheck)
	}
}

func (d *decision) ranFor() time.Duration { return RanFor(d.World, d.now) }

// RanFor is how long the mover has been at work.
func RanFor(w World, now time.Time) time.Duration {
	if w.Job == nil || w.Job.Status.StartTime == nil {
		return 0
	}
	return max(now.Sub(w.Job.Status.StartTime.Time), 0)
}

// ProgressDue reports whether the mover's log is to be read: no more often than it says something.
func ProgressDue(w World, now time.Time) bool {
	if w.Outcome.State != moverjob.Running {
		return false
	}
	p := w.Replication.Status.Progress
	if p == nil {
		return true
	}
	at, err := time.Parse(time.RFC3339, p.UpdatedAt)
	since := now.Sub(at)
	return err != nil || since < 0 || since >= work.ProgressInterval(RanFor(w, now))
}

// told deals with what a mover that has ended told, in steps: Snapshots of the copies, the next part, what is deleted, the
// end.
func (d *decision) told() {
	if d.edited() {
		d.restart()
		return
	}
	r := d.Outcome.Result
	d.say(Progressing, kopiurv1.ReasonReplicating, "the mover has ended; what it copied is being recorded")
	if r.Migrate != nil && r.Migrate.Pages > 0 && !d.Records.Rows {
		d.p.Action, d.p.After = Rows, soon
		return
	}
	ok := r.Code == work.CodeOK && r.Migrate != nil
	if ok && r.Migrate.Cursor != "" && string(r.Migrate.Cursor) != d.p.Status.Run.Cursor {
		d.count(*r.Migrate)
		turn := *d.p.Status.Run
		turn.Part, turn.Cursor = turn.Part+1, string(r.Migrate.Cursor)
		d.start(turn)
		return
	}
	if ok && d.Records.Held == "" && d.Records.Doomed > 0 {
		d.p.Action, d.p.After = Prune, soon
		return
	}
	d.overlap()
	d.p.Status.LogTail = d.Tail.Text
	if r.Migrate != nil {
		d.count(*r.Migrate)
	}
	if !ok {
		d.p.Status.Failure = moverjob.Failure(d.Outcome)
		if d.p.Status.Failure == nil {
			d.p.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: string(work.CodeUnknown), Message: "the mover says that it copied, and not what", Op: operation}
		}
		d.pruned("the last run did not succeed, and what it did not see must not pass for gone")
		d.failed()
		return
	}
	d.succeeded(*r)
}

// count adds up the parts of a run. The first one copied, the others only told the rest.
func (d *decision) count(m work.MigrateResult) {
	turn, last := d.p.Status.Run, d.p.Status.LastRun
	if turn.Part == 1 || last == nil {
		d.p.Status.LastRun = &kopiurv1.SnapshotReplicationRun{
			IdentitiesSelected: m.IdentitiesSelected, SnapshotsCopied: m.SnapshotsCopied, AlreadyPresent: m.AlreadyPresent, Failed: m.Failed,
		}
		return
	}
	last.SnapshotsCopied += m.SnapshotsCopied // that came to be while the first part was told
}

func (d *decision) overlap() {
	d.p.Carry = []string{kopiurv1.ConditionPruned}
	if d.Records.Overlap == "" {
		d.condition(kopiurv1.ConditionIdentityOverlap, false, kopiurv1.ReasonNoIdentityOverlap, "nobody else stores snapshots of the selected identities in the destination")
		return
	}
	d.condition(kopiurv1.ConditionIdentityOverlap, true, kopiurv1.ReasonIdentityOverlap,
		d.Records.Overlap+" stores snapshots of a selected identity in the destination itself. They are no copies and are left alone; exclude the identity, or give it another")
}

func (d *decision) condition(kind string, yes bool, reason, message string) {
	d.p.Conditions = append(d.p.Conditions, Condition{kind, yes, reason, message})
}

// pruned says that pruning was left out, where it is asked for.
func (d *decision) pruned(held string) {
	d.p.Carry = nil
	if !Prunes(d.Replication) {
		return
	}
	if held != "" {
		d.condition(kopiurv1.ConditionPruned, false, kopiurv1.ReasonPruningHeld, "no copy was deleted: "+held)
		return
	}
	d.condition(kopiurv1.ConditionPruned, true, kopiurv1.ReasonReplicated, "the last run deleted the copies that spec.pruning does not keep")
}

func (d *decision) succeeded(r work.Result) {
	st, m := &d.p.Status, *r.Migrate
	if m.IdentitiesSelected == 0 && selects(d.Replication) {
		st.Failure = &kopiurv1.Failure{
			KopiaErrorClass: kopiurv1.ReasonNoIdentitiesMatched, Op: operation,
			Message: "spec.selection.identities selects none of the source's identities: nothing was copied. Each pattern is that of the whole value",
		}
		d.pruned("spec.selection selects nothing")
		d.failed()
		return
	}
	st.LastRun.Pruned = d.Records.Pruned
	st.Failure, st.ConsecutiveFailures = nil, 0
	end := r.EndTime
	if end.IsZero() {
		end = d.now
	}
	st.LastReplicated = end.UTC().Format(time.RFC3339)
	d.pruned(d.Records.Held)
	d.end(kopiurv1.RunSucceeded)
	d.p.Ended = EndedOK
	d.p.Notes = append(d.p.Notes, Note{false, kopiurv1.ReasonReplicated, summary(*st.LastRun)})
}

// failed ends a run that did not succeed.
func (d *decision) failed() {
	st := &d.p.Status
	st.ConsecutiveFailures++
	d.end(kopiurv1.RunFailed)
	d.p.Ended = EndedFailed
	d.p.Notes = append(d.p.Notes, Note{true, kopiurv1.ReasonReplicationFailed, fmt.Sprintf("%s: %s", st.Failure.KopiaErrorClass, st.Failure.Message)})
}

// end lets go of the run and pins the next turn, from now on: a run by hand stands for the one that was due.
func (d *decision) end(phase kopiurv1.RunPhase) {
	st := &d.p.Status
	if st.Run.Trigger == kopiurv1.TriggerManual && st.ManualRun != nil {
		st.ManualRun.Phase, st.ManualRun.CompletedAt = phase, d.stamp()
	}
	st.Run = nil
	if d.rule.Text() == "" {
		return // the schedule cannot be read any more: the next look says so
	}
	pin := d.rule.Next(d.now)
	if phase == kopiurv1.RunFailed && st.Failure != nil && st.Failure.RetryRecommended {
		pin = d.retry()
	}
	st.NextScheduledAt, st.Schedule = pin.String(), pin.Rule
	d.p.Action = Rest
	d.rest(pin.At.Sub(d.now))
	d.p.After = min(d.p.After, settle)
}

// settle is when to look again after the end of a run was recorded, to let its Job go.
const settle = time.Second
