// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replication decides when a repository is copied to another place, and what came of it.
//
// A copy is the same repository: it has the source's password and format, and is opened by pointing at the other place.
// There is one run at a time. What a run that failed has copied stays, so that the next one goes on from there; nothing is
// ever taken back, and nothing is deleted at the destination but by a run whose spec says deleteExtra.
package replication

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// Operation is what these Jobs are labelled with.
	Operation = "replicate"
	// letter starts their names.
	letter = "b"
	// Look is when a gate is looked at again that no watch tells of.
	Look = 5 * time.Minute
)

// World is all that is known of one RepositoryReplication.
type World struct {
	Replication *kopiurv1.RepositoryReplication
	// Others are the replications that may have the same destination.
	Others []kopiurv1.RepositoryReplication
	// Source is nil where it does not exist.
	Source *moverjob.Repository
	// Gates are what the mover needs where it runs, with the condition of each.
	Gates []Gate
	// CredentialVersion is that of all Secrets of both sides, "" while one of them is missing.
	CredentialVersion string
	// Turn is that of Job, which is nil where none is under way.
	Turn    Turn
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	Tail    moverjob.Tail
	Proof   Proof
	// CacheClaim is the claim of a cache that is kept from copy to copy, "" where it goes with the pod.
	CacheClaim string
	// Beside is what is at work at the destination that is neither of these Jobs, as a sentence; "" where nothing is.
	Beside string
}

// Gate is one that stands before a run. Condition is "" where no condition tells of it.
type Gate struct {
	gates.Verdict

	Condition string
}

// Turn is one run: what asked for it.
type Turn struct {
	// At is the pinned time, or the value of the annotation.
	At     string
	Manual bool
}

// Attempt tells the Job of one turn from that of another.
func (t Turn) Attempt() string {
	if t.Manual {
		return "manual/" + t.At
	}
	return t.At
}

// JobName of a turn.
func JobName(r *kopiurv1.RepositoryReplication, t Turn) string {
	return moverjob.Name(letter, r.Name, r.UID, Operation, t.Attempt())
}

// Verdict is what the conditions say in sum.
type Verdict string

// Verdicts.
const (
	Ready       Verdict = "Ready"
	Progressing Verdict = "Progressing"
	Stalled     Verdict = "Stalled"
)

// Plan is what is to be done.
type Plan struct {
	Status kopiurv1.RepositoryReplicationStatus
	// Start is the turn to make a Job for.
	Start *Turn
	// Recorded: the outcome of the Job is in Status, and it succeeded or not.
	Recorded, Succeeded bool
	Conditions          []metav1.Condition
	Verdict             Verdict
	Reason              string
	Message             string
	After               time.Duration
	// Proof is about the verification of the copy; nil where none is asked for.
	Proof *verify.Plan
}

func rule(w World) (due.Rule, error) {
	var defaults *kopiurv1.ScheduleDefaults
	if w.Source != nil {
		defaults = w.Source.Spec.ScheduleDefaults
	}
	o := w.Replication
	return due.Parse(o.Spec.Schedule, "", defaults, o.Namespace+"/"+o.Name, string(o.UID)) //nolint:wrapcheck // by the caller
}

// Turns are those that can have a Job now: one that somebody asked for, and the one whose pinned time has come.
func Turns(r *kopiurv1.RepositoryReplication, now time.Time) []Turn {
	var out []Turn
	if t := manual(r); t != nil {
		out = append(out, *t)
	}
	if pin := due.Read(r.Status.NextScheduledAt, r.Status.Schedule); !pin.At.IsZero() && !now.Before(pin.At) {
		out = append(out, Turn{At: r.Status.NextScheduledAt})
	}
	return out
}

// manual is the run that the annotation asks for, nil where there is none or it has ended. An annotation that cannot be
// read asks for nothing.
func manual(r *kopiurv1.RepositoryReplication) *Turn {
	at := r.Annotations[kopiurv1.AnnotationRunRequested]
	if at == "" || InvalidRequest(r) != "" {
		return nil
	}
	if m := r.Status.ManualRun; m != nil && m.RequestedAt == at && (m.Phase == kopiurv1.RunSucceeded || m.Phase == kopiurv1.RunFailed) {
		return nil
	}
	return &Turn{At: at, Manual: true}
}

// InvalidRequest is what is wrong with the annotation that asks for a run, "" where nothing is.
func InvalidRequest(r *kopiurv1.RepositoryReplication) string {
	if f := validation.RunRequest(r.Annotations); len(f.Errors) > 0 {
		return f.Errors[0].Error()
	}
	return ""
}

// TurnOf is the turn whose outcome a Job still has to give: one that is due, or the one that the status names, though its
// schedule or its request was edited since.
func TurnOf(r *kopiurv1.RepositoryReplication, job *batchv1.Job, now time.Time) (Turn, bool) {
	for _, t := range Turns(r, now) {
		if JobName(r, t) == job.Name {
			return t, true
		}
	}
	if r.Status.Job == nil || r.Status.Job.Name != job.Name {
		return Turn{}, false
	}
	t := Turn{At: job.Annotations[kopiurv1.AnnotationReplicationSlot]}
	t.Manual = JobName(r, t) != job.Name
	return t, JobName(r, t) == job.Name
}

// Decide is total: it has an answer for every state of a replication. The copy comes first, and a proof never runs beside
// one: it would miss what the copy is about to write, and what deleteExtra takes away.
func Decide(w World, now time.Time) Plan {
	return w.prove(w.copy(now), now)
}

// copy decides about the copy.
func (w World) copy(now time.Time) Plan {
	o := w.Replication
	p := Plan{Status: *o.Status.DeepCopy(), Verdict: Ready}
	p.Status.DestinationBackend = o.Spec.Destination.Name()
	p.request(o)
	if bad := InvalidRequest(o); bad != "" {
		p.add(kopiurv1.ConditionRunRequested, metav1.ConditionFalse, kopiurv1.ReasonInvalidRunRequest, bad)
	}
	if w.Job != nil {
		return w.watch(p, now)
	}
	p.Status.Job, p.Status.Progress = nil, nil
	if reason, message := w.Refused(); reason != "" {
		return p.refuse(reason, message)
	}
	r, err := rule(w)
	if err != nil {
		return p.refuse(kopiurv1.ReasonInvalidSchedule, "spec.schedule: "+err.Error())
	}
	pin := r.Keep(due.Read(p.Status.NextScheduledAt, p.Status.Schedule), now)
	if w.reopened() {
		pin.At = now.UTC().Truncate(time.Second)
	}
	p.Status.NextScheduledAt, p.Status.Schedule = pin.String(), pin.Rule
	if o.Spec.Suspend {
		return p.suspended(o, now)
	}
	turns := Turns(&kopiurv1.RepositoryReplication{ObjectMeta: o.ObjectMeta, Status: p.Status}, now)
	p.After = max(pin.At.Sub(now), time.Second)
	if len(turns) == 0 {
		return p.standing()
	}
	if g := w.gate(); !g.Open {
		p.After = Look
		if p.Status.Phase != kopiurv1.ReplicationFailed {
			p.Status.Phase = kopiurv1.ReplicationPending
		}
		if g.Condition != "" {
			p.add(g.Condition, metav1.ConditionFalse, g.Reason, g.Message)
		}
		p.Verdict, p.Reason, p.Message = Progressing, g.Reason, g.Message
		return p
	}
	t := turns[0]
	p.Start, p.After = &t, Look
	p.Status.Job = &kopiurv1.JobStatus{Name: JobName(o, t)}
	p.Status.LogTail = ""
	p.Status.ResolvedCredentialVersion = w.CredentialVersion
	if t.Manual {
		p.Status.ManualRun.Phase = kopiurv1.RunRunning
	}
	return p.copying(o)
}

// request records a run that was asked for.
func (p *Plan) request(r *kopiurv1.RepositoryReplication) {
	t := manual(r)
	if t == nil {
		return
	}
	if m := p.Status.ManualRun; m == nil || m.RequestedAt != t.At {
		p.Status.ManualRun = &kopiurv1.ManualRun{RequestedAt: t.At, Phase: kopiurv1.RunPending}
	}
}

// Refused is why nothing may ever be copied as the spec stands, "" where it may.
func (w World) Refused() (reason, message string) {
	o := w.Replication.DeepCopy()
	delete(o.Annotations, kopiurv1.AnnotationRunRequested) // told of elsewhere
	if r := validation.Guard(o); r.Refused() {
		return r.Reason, r.Message
	}
	// Of two that would overwrite each other's copy, the one that was there first goes on.
	if errs := validation.RepositoryReplicationDestination(o, w.older()).Errors; len(errs) > 0 {
		return kopiurv1.ReasonInvalidSpec, errs[0].Error()
	}
	if w.Source == nil {
		return "", ""
	}
	if errs := validation.RepositoryReplicationOf(o, w.Source.Spec).Errors; len(errs) > 0 {
		return kopiurv1.ReasonInvalidSpec, errs[0].Error()
	}
	if _, err := Build(w, Turn{}, moverjob.Images{Mover: "mover:x"}, ""); err != nil {
		return kopiurv1.ReasonInvalidSpec, err.Error()
	}
	return "", ""
}

func (w World) older() []kopiurv1.RepositoryReplication {
	var out []kopiurv1.RepositoryReplication
	me := w.Replication
	for i := range w.Others {
		o := &w.Others[i]
		if c := o.CreationTimestamp.Compare(me.CreationTimestamp.Time); o.DeletionTimestamp == nil && (c < 0 || c == 0 && o.UID < me.UID) {
			out = append(out, *o)
		}
	}
	return out
}

// reopened reports whether what a run failed by for good has changed.
func (w World) reopened() bool {
	st := w.Replication.Status
	return st.Failure != nil && !st.Failure.RetryRecommended && w.CredentialVersion != "" &&
		(st.ObservedGeneration != w.Replication.Generation || st.ResolvedCredentialVersion != w.CredentialVersion)
}

// gate is the first closed one, of a turn that is due.
func (w World) gate() Gate {
	ref := w.Replication.Spec.SourceRef.In(w.Replication.Namespace)
	if v := gates.Readable(ref.String(), w.Source); !v.Open {
		return Gate{Verdict: gates.Verdict{Reason: kopiurv1.ReasonWaitingForSourceRepository, Message: v.Message}}
	}
	if j := w.Proof.Job; j != nil {
		return Gate{Verdict: gates.Verdict{Reason: kopiurv1.ReasonWaitingForVerification, Message: "Job " + j.Name + " verifies the copy; the next one is made after that"}}
	}
	if w.Beside != "" {
		return Gate{Verdict: gates.Verdict{Reason: kopiurv1.ReasonReplicating, Message: w.Beside}}
	}
	for _, g := range w.Gates {
		if !g.Open {
			return g
		}
	}
	return Gate{Verdict: gates.Verdict{Open: true}}
}

func (p Plan) refuse(reason, message string) Plan {
	p.Status.Phase = kopiurv1.ReplicationFailed
	p.Verdict, p.Reason, p.Message = Stalled, reason, message
	return p
}

func (p *Plan) add(kind string, status metav1.ConditionStatus, reason, message string) {
	p.Conditions = append(p.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// suspended stands as the last run left it, and says that nothing follows.
func (p Plan) suspended(o *kopiurv1.RepositoryReplication, now time.Time) Plan {
	p = p.standing()
	p.Status.Phase, p.After = kopiurv1.ReplicationSuspended, 0
	p.add(kopiurv1.ConditionSuspended, metav1.ConditionTrue, kopiurv1.ReasonSuspended, "spec.suspend is true: nothing is copied or verified")
	p.Message = "spec.suspend is true: nothing is copied or verified" + last(p.Status)
	if len(Turns(&kopiurv1.RepositoryReplication{ObjectMeta: o.ObjectMeta, Status: p.Status}, now)) > 0 && manual(o) != nil {
		p.add(kopiurv1.ConditionRunRequested, metav1.ConditionFalse, kopiurv1.ReasonSuspendedWithPendingRun,
			"spec.suspend is true: the run that was asked for is made after that")
	}
	return p
}

func (p Plan) copying(o *kopiurv1.RepositoryReplication) Plan {
	p.Status.Phase = kopiurv1.ReplicationReplicating
	p.Verdict, p.Reason = Progressing, kopiurv1.ReasonReplicating
	p.Message = fmt.Sprintf("copying %s to the %s store of spec.destination", o.Spec.SourceRef.In(o.Namespace), o.Spec.Destination.Name())
	return p
}

// standing is how the replication stands between two runs, from its status alone.
func (p Plan) standing() Plan {
	st := &p.Status
	next := "; the next copy is due at " + st.NextScheduledAt
	switch f := st.Failure; {
	case f != nil:
		st.Phase = kopiurv1.ReplicationFailed
		p.Verdict, p.Reason = Stalled, kopiurv1.ReasonReplicationFailed
		p.Message = fmt.Sprintf("the last copy failed (%s): %s%s%s", f.KopiaErrorClass, f.Message, next, last(*st))
		if f.RetryRecommended {
			p.Verdict = Progressing
		}
	case st.LastReplicated != "":
		st.Phase = kopiurv1.ReplicationSucceeded
		p.Verdict, p.Reason, p.Message = Ready, kopiurv1.ReasonReplicated, summary(*st)+next
	default:
		st.Phase = kopiurv1.ReplicationPending
		p.Verdict, p.Reason, p.Message = Ready, kopiurv1.ReasonReplicationScheduled, "the first copy is due at "+st.NextScheduledAt
	}
	return p
}

// last tells when there was a copy at all, which is what matters where the newest one failed.
func last(st kopiurv1.RepositoryReplicationStatus) string {
	if st.LastReplicated == "" {
		return "; there is no complete copy yet"
	}
	return "; the last complete copy is of " + st.LastReplicated
}

func summary(st kopiurv1.RepositoryReplicationStatus) string {
	number := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	out := fmt.Sprintf("%d blobs, %d bytes, were copied, and the destination holds all %d", number(st.LastReplicatedBlobs), number(st.LastReplicatedBytes), number(st.BlobsTotal))
	if n := number(st.BlobsExtra); n > 0 {
		out += fmt.Sprintf(" and %d that the source has no more", n)
	}
	return out
}
