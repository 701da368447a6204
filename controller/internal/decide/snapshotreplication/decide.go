// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"fmt"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

// look is when a gate is looked at again that no watch tells of.
const look = 5 * time.Minute

// soon is when to go on with what one reconcile did not finish.
const soon = 50 * time.Millisecond

type decision struct {
	World
	now  time.Time
	p    Plan
	rule due.Rule
}

// Decide is total.
func Decide(w World, now time.Time) Plan {
	d := &decision{World: w, now: now, p: Plan{Status: *w.Replication.Status.DeepCopy(), Action: Rest}}
	d.p.Suspended = w.Replication.Spec.Suspend
	d.p.Carry = []string{kopiurv1.ConditionIdentityOverlap, kopiurv1.ConditionPruned}
	if d.p.Status.Run == nil && d.refused() {
		return d.p
	}
	var err error
	if d.rule, err = d.parse(); err != nil {
		d.p.Status.NextScheduledAt, d.p.Status.Schedule = "", ""
		if d.p.Status.Run == nil {
			d.fail(kopiurv1.ReasonInvalidSchedule, "spec.schedule: "+err.Error())
			return d.p
		}
	}
	if d.p.Status.Run != nil {
		d.follow()
		return d.p
	}
	d.wait()
	return d.p
}

// fail is a stand that only the user ends.
func (d *decision) fail(reason, message string) {
	d.p.Status.Phase = kopiurv1.ReplicationFailed
	d.say(Stalled, reason, message)
}

func (d *decision) say(s State, reason, message string) {
	d.p.State, d.p.Reason, d.p.Message = s, reason, message
}

// refused is what neither side can be copied with.
func (d *decision) refused() bool {
	o := d.Replication.DeepCopy()
	// An annotation that nobody can read asks for nothing, and is told of elsewhere.
	delete(o.Annotations, kopiurv1.AnnotationRunRequested)
	if r := validation.Guard(o); r.Refused() {
		d.fail(r.Reason, r.Message)
		return true
	}
	if d.Source == nil || d.Destination == nil {
		return false
	}
	if errs := validation.SnapshotReplicationOf(o, d.Source.Spec, d.Destination.Spec).Errors; len(errs) > 0 {
		d.fail(kopiurv1.ReasonInvalidSpec, errs[0].Error())
		return true
	}
	return false
}

func (d *decision) parse() (due.Rule, error) {
	var defaults *kopiurv1.ScheduleDefaults
	if d.Source != nil {
		defaults = d.Source.Spec.ScheduleDefaults
	}
	o := d.Replication
	return due.Parse(o.Spec.Schedule, "", defaults, o.Namespace+"/"+o.Name, string(o.UID)) //nolint:wrapcheck // by the caller
}

// requested is the annotation's run, where it was not made yet. One that cannot be read is recorded as failed, so that it
// is told once.
func (d *decision) requested() (string, bool) {
	text := d.Replication.Annotations[kopiurv1.AnnotationRunRequested]
	m := d.p.Status.ManualRun
	if text == "" || m != nil && m.RequestedAt == text && (m.Phase == kopiurv1.RunSucceeded || m.Phase == kopiurv1.RunFailed) {
		return "", false
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		d.p.Status.ManualRun = &kopiurv1.ManualRun{RequestedAt: text, Phase: kopiurv1.RunFailed, CompletedAt: d.stamp()}
		d.p.Notes = append(d.p.Notes, Note{
			true, kopiurv1.ReasonInvalidRunRequest,
			"the annotation " + kopiurv1.AnnotationRunRequested + " is no RFC 3339 time, such as 2026-03-05T09:00:00Z: nothing is run for it",
		})
		return "", false
	}
	if m == nil || m.RequestedAt != text {
		d.p.Status.ManualRun = &kopiurv1.ManualRun{RequestedAt: text, Phase: kopiurv1.RunPending}
	}
	return text, true
}

// wait is a replication without a run.
func (d *decision) wait() {
	st := &d.p.Status
	asked, manual := d.requested()
	pin := d.rule.Keep(due.Read(st.NextScheduledAt, st.Schedule), d.now)
	if d.reopened() {
		pin.At = d.now.UTC().Truncate(time.Second)
	}
	st.NextScheduledAt, st.Schedule = pin.String(), pin.Rule
	if d.Replication.Spec.Suspend {
		st.Phase = kopiurv1.ReplicationSuspended
		if manual {
			d.say(Ready, kopiurv1.ReasonSuspendedWithPendingRun, "spec.suspend is true: the run that was asked for is made after that")
			return
		}
		d.say(Ready, kopiurv1.ReasonSuspended, "spec.suspend is true: nothing is copied")
		return
	}
	if rest := pin.At.Sub(d.now); !manual && rest > 0 {
		d.rest(rest)
		return
	}
	if d.held() {
		return
	}
	turn := kopiurv1.SnapshotReplicationTurn{Slot: pin.String(), Trigger: kopiurv1.TriggerSchedule, Part: 1, Attempt: st.ConsecutiveFailures, StartedAt: d.stamp()}
	if manual {
		turn.Slot, turn.Trigger = asked, kopiurv1.TriggerManual
		st.ManualRun.Phase = kopiurv1.RunRunning
	}
	d.start(turn)
}

// reopened reports whether what a run failed by for good has changed.
func (d *decision) reopened() bool {
	st := d.Replication.Status
	return st.Phase == kopiurv1.ReplicationFailed && st.Failure != nil && !st.Failure.RetryRecommended && d.CredentialVersion != "" &&
		(st.ObservedGeneration != d.Replication.Generation || st.ResolvedCredentialVersion != d.CredentialVersion)
}

// rest sums up the last run until the next one.
func (d *decision) rest(after time.Duration) {
	st := &d.p.Status
	d.p.After = after
	next := "; the next run is due at " + st.NextScheduledAt
	switch {
	case st.Failure != nil && st.Failure.KopiaErrorClass == kopiurv1.ReasonNoIdentitiesMatched:
		st.Phase = kopiurv1.ReplicationFailed
		d.say(Stalled, st.Failure.KopiaErrorClass, st.Failure.Message+next)
	case st.Failure != nil:
		st.Phase = kopiurv1.ReplicationFailed
		message := fmt.Sprintf("the last run failed with %s; status.failure has the mover's words%s", st.Failure.KopiaErrorClass, next)
		if st.Failure.RetryRecommended {
			d.say(Progressing, kopiurv1.ReasonReplicationFailed, message)
			return
		}
		d.say(Stalled, kopiurv1.ReasonReplicationFailed, message+", or when the spec or the credentials change")
	case st.LastRun != nil:
		st.Phase = kopiurv1.ReplicationSucceeded
		d.say(Ready, kopiurv1.ReasonReplicated, summary(*st.LastRun)+next)
	default:
		st.Phase = kopiurv1.ReplicationPending
		d.say(Ready, kopiurv1.ReasonReplicationScheduled, "the first run is due at "+st.NextScheduledAt)
	}
}

// summary is a run in one sentence.
func summary(r kopiurv1.SnapshotReplicationRun) string {
	return fmt.Sprintf("%d snapshots of %d identities were copied and %d were there before; %d copies were deleted",
		r.SnapshotsCopied, r.IdentitiesSelected, r.AlreadyPresent, r.Pruned)
}

// held is a start that waits for somebody else.
func (d *decision) held() bool {
	o := d.Replication
	stop := func(s State, reason, message string) bool {
		if d.p.Status.Phase != kopiurv1.ReplicationFailed || s == Stalled {
			d.p.Status.Phase = kopiurv1.ReplicationPending
		}
		d.say(s, reason, message)
		d.p.After = look
		return true
	}
	if v := gates.Repository(o.Spec.SourceRef.In(o.Namespace).String(), d.Source, true); !v.Open {
		return stop(Progressing, kopiurv1.ReasonWaitingForSourceRepository, v.Message)
	}
	if v := gates.Repository(o.Spec.DestinationRef.In(o.Namespace).String(), d.Destination, true); !v.Open {
		return stop(Progressing, kopiurv1.ReasonWaitingForDestinationRepository, v.Message)
	}
	if v := gates.Writable(*d.Destination); !v.Open {
		return stop(Stalled, kopiurv1.ReasonDestinationReadOnly, v.Message)
	}
	for _, g := range d.Gates {
		if !g.Open {
			if g.Condition != "" {
				d.p.Conditions = append(d.p.Conditions, Condition{g.Condition, false, g.Reason, g.Message})
			}
			return stop(Progressing, g.Reason, g.Message)
		}
		if g.Condition != "" {
			d.p.Conditions = append(d.p.Conditions, Condition{g.Condition, true, g.Reason, g.Message})
		}
	}
	return false
}

// start plans the Job of a part. The status that names it is written before it is made.
func (d *decision) start(turn kopiurv1.SnapshotReplicationTurn) {
	job, err := Build(d.World, turn)
	if err != nil {
		d.fail(kopiurv1.ReasonInvalidSpec, err.Error())
		return
	}
	st := &d.p.Status
	st.Run, st.Phase, st.Progress, st.LogTail = &turn, kopiurv1.ReplicationReplicating, nil, ""
	st.Job = &kopiurv1.JobStatus{Name: job.Name}
	if v := d.CredentialVersion; v != "" {
		st.ResolvedCredentialVersion = v
	}
	d.p.Action, d.p.Job, d.p.After = Start, job, look
	d.say(Progressing, kopiurv1.ReasonReplicating, d.copying())
}

func (d *decision) copying() string {
	o := d.Replication
	return fmt.Sprintf("copying snapshots from %s to %s", o.Spec.SourceRef.In(o.Namespace), o.Spec.DestinationRef.In(o.Namespace))
}

func (d *decision) stamp() string { return d.now.UTC().Format(time.RFC3339) }

// retry pins the turn after a failure that may pass.
func (d *decision) retry() due.Pin {
	return d.rule.Retry(d.now, connect.Ladder(d.p.Status.ConsecutiveFailures))
}
