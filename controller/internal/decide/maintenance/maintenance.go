// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance decides when a repository is maintained, in which mode, and what came of it.
//
// There is one run at a time. A full one does all that a quick one does and takes its place where both are due. A turn
// that was left to another owner is dealt with like one that was run: it does not come back.
package maintenance

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// Operation is what these Jobs are labelled with.
	Operation = "maintain"
	// letter starts their names.
	letter = "m"
	// retry is the rest after a run that failed.
	retry = 30 * time.Minute
	// Look is when a run or a gate is looked at again that no watch tells of. The Lease is renewed as often.
	Look = 5 * time.Minute
)

// World is all that is known of one Maintenance.
type World struct {
	Maintenance *kopiurv1.Maintenance
	// Refusal is what admission would have said.
	Refusal validation.Refusal
	// Repository is nil where it does not exist; Allowed whether this namespace may maintain it.
	Repository *moverjob.Repository
	Allowed    bool
	// Gates are what the mover needs where it runs.
	Gates []gates.Verdict
	// Inherited is whom the mover takes over the user of, nil where of nobody; User what is to be said about it.
	Inherited *moverjob.Layer
	User      gates.Verdict
	// CacheClaim is the claim of a cache that is kept, "" where it goes with the pod.
	CacheClaim string
	// Held names who holds the Lease of the store, "" where nobody else does.
	Held string
	// Turn is that of Job, which is nil where none is under way.
	Turn    Turn
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	LogTail string
}

// Turn is one run: its mode, and what asked for it.
type Turn struct {
	Mode kopiurv1.MaintenanceMode
	// At is the pinned time, or the value of the annotation.
	At     string
	Manual bool
}

// Attempt tells the Job of one turn from that of another.
func (t Turn) Attempt() string {
	if t.Manual {
		return "manual/" + string(t.Mode) + "/" + t.At
	}
	return string(t.Mode) + "/" + t.At
}

// JobName of a turn.
func JobName(m *kopiurv1.Maintenance, t Turn) string {
	return moverjob.Name(letter, m.Name, m.UID, Operation, t.Attempt())
}

// Verdict is what the conditions say in sum.
type Verdict string

// Verdicts.
const (
	Ready       Verdict = "Ready"
	Progressing Verdict = "Progressing"
	Stalled     Verdict = "Stalled"
)

// Outcomes of a run.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Yielded   = "yielded"
)

// Plan is what is to be done.
type Plan struct {
	Status kopiurv1.MaintenanceStatus
	// Start is the turn to make a Job for.
	Start *Turn
	// Recorded: the outcome of the Job is in Status.
	Recorded bool
	// Ended is what came of it: a word of the metric.
	Ended      string
	Conditions []metav1.Condition
	Verdict    Verdict
	Reason     string
	Message    string
	After      time.Duration
	// Reclaimed is what a run that ended well gave back.
	Reclaimed int64
}

// rules are the schedules of a Maintenance that can be computed with.
type rules struct{ quick, full due.Rule }

func rulesOf(w World) (rules, error) {
	m := w.Maintenance
	s := m.Spec.Schedule
	var defaults *kopiurv1.ScheduleDefaults
	if w.Repository != nil {
		defaults = w.Repository.Spec.ScheduleDefaults
	}
	seed := m.Namespace + "/" + m.Name
	quick, err := due.Parse(s.Quick, s.Timezone, defaults, seed, string(m.UID)+"/quick")
	if err != nil {
		return rules{}, fmt.Errorf("spec.schedule.quick: %w", err)
	}
	full, err := due.Parse(s.Full, s.Timezone, defaults, seed, string(m.UID)+"/full")
	if err != nil {
		return rules{}, fmt.Errorf("spec.schedule.full: %w", err)
	}
	return rules{quick, full}, nil
}

// Turns are those that can have a Job now: one that somebody asked for, and those whose pinned time has come.
func Turns(m *kopiurv1.Maintenance, now time.Time) []Turn {
	var out []Turn
	if t := manual(m); t != nil {
		out = append(out, *t)
	}
	if s := m.Status.Full; passed(s, now) {
		out = append(out, Turn{Mode: kopiurv1.MaintenanceFull, At: s.NextScheduledAt})
	}
	if s := m.Status.Quick; passed(s, now) {
		out = append(out, Turn{Mode: kopiurv1.MaintenanceQuick, At: s.NextScheduledAt})
	}
	return out
}

func passed(s *kopiurv1.MaintenanceRunStatus, now time.Time) bool {
	if s == nil {
		return false
	}
	pin := due.Read(s.NextScheduledAt, s.Schedule)
	return !pin.At.IsZero() && !now.Before(pin.At)
}

// manual is the run that the annotation asks for, nil where there is none or it has ended. An annotation that cannot be
// read asks for nothing.
func manual(m *kopiurv1.Maintenance) *Turn {
	at := m.Annotations[kopiurv1.AnnotationRunRequested]
	if at == "" || InvalidRequest(m) != "" {
		return nil
	}
	if r := m.Status.ManualRun; r != nil && r.RequestedAt == at && (r.Phase == kopiurv1.RunSucceeded || r.Phase == kopiurv1.RunFailed) {
		return nil
	}
	mode := kopiurv1.MaintenanceMode(m.Annotations[kopiurv1.AnnotationRunMode])
	if mode == "" {
		mode = kopiurv1.MaintenanceQuick
	}
	return &Turn{Mode: mode, At: at, Manual: true}
}

// InvalidRequest is what is wrong with the annotations that ask for a run, "" where nothing is.
func InvalidRequest(m *kopiurv1.Maintenance) string {
	f := validation.RunRequest(m.Annotations, string(kopiurv1.MaintenanceQuick), string(kopiurv1.MaintenanceFull))
	if len(f.Errors) == 0 {
		return ""
	}
	return f.Errors[0].Error()
}

// Decide is total: it has an answer for every state of a Maintenance.
func Decide(w World, now time.Time) Plan {
	p := Plan{Status: *w.Maintenance.Status.DeepCopy(), Verdict: Ready}
	if w.Refusal.Refused() {
		return p.stall(w.Refusal.Reason, w.Refusal.Message)
	}
	r, err := rulesOf(w)
	if err != nil {
		return p.stall(kopiurv1.ReasonInvalidSchedule, err.Error())
	}
	p.pin(r, now)
	p.request(w.Maintenance)
	if w.Job != nil {
		return w.watch(p, r, now)
	}
	p.Status.Job = nil
	turns := Turns(&kopiurv1.Maintenance{ObjectMeta: w.Maintenance.ObjectMeta, Status: p.Status}, now)
	p.After = p.rest(now)
	if len(turns) == 0 {
		return p.standing(w)
	}
	if v := w.gate(); !v.Open {
		p.After = Look
		p.Verdict, p.Reason, p.Message = Progressing, v.Reason, v.Message
		if kind := closedBy[v.Reason]; kind != "" {
			p.add(kind, metav1.ConditionFalse, v.Reason, v.Message)
		}
		return p.owned(w)
	}
	t := turns[0]
	p.Start, p.After = &t, Look
	p.Status.Job = &kopiurv1.JobStatus{Name: JobName(w.Maintenance, t)}
	if t.Manual {
		p.Status.ManualRun.Phase = kopiurv1.RunRunning
	}
	return p.standing(w)
}

// pin sees to it that each mode has its next time.
func (p *Plan) pin(r rules, now time.Time) {
	for _, m := range []struct {
		status **kopiurv1.MaintenanceRunStatus
		rule   due.Rule
	}{{&p.Status.Quick, r.quick}, {&p.Status.Full, r.full}} {
		if *m.status == nil {
			*m.status = &kopiurv1.MaintenanceRunStatus{}
		}
		set(*m.status, m.rule.Keep(due.Read((*m.status).NextScheduledAt, (*m.status).Schedule), now))
	}
}

func set(s *kopiurv1.MaintenanceRunStatus, pin due.Pin) {
	s.NextScheduledAt, s.Schedule = pin.String(), pin.Rule
}

// request records a run that was asked for.
func (p *Plan) request(m *kopiurv1.Maintenance) {
	t := manual(m)
	if t == nil {
		return
	}
	if r := p.Status.ManualRun; r == nil || r.RequestedAt != t.At {
		p.Status.ManualRun = &kopiurv1.MaintenanceManualRun{Mode: t.Mode}
		p.Status.ManualRun.RequestedAt, p.Status.ManualRun.Phase = t.At, kopiurv1.RunPending
	}
}

// rest is the time to the next turn.
func (p *Plan) rest(now time.Time) time.Duration {
	quick, full := due.Read(p.Status.Quick.NextScheduledAt, "").At.Sub(now), due.Read(p.Status.Full.NextScheduledAt, "").At.Sub(now)
	return max(min(quick, full), time.Second)
}

// gate is why a turn that is due may not start. What a slow repository needs most is not held back by its slowness.
func (w World) gate() gates.Verdict {
	name := w.Maintenance.Spec.Repository.In(w.Maintenance.Namespace).String()
	if v := gates.Maintenance(name, w.Repository); !v.Open {
		return v
	}
	if !w.Allowed {
		return gates.Verdict{Reason: kopiurv1.ReasonNamespaceNotAllowed, Message: name + " does not allow this namespace: its owner adds the namespace to spec.allowedNamespaces"}
	}
	for _, v := range w.Gates {
		if !v.Open {
			return v
		}
	}
	if w.Held != "" {
		return gates.Verdict{Reason: kopiurv1.ReasonMaintenanceWaiting, Message: "the same store is being maintained by " + w.Held + ": two at a time could delete what the other needs"}
	}
	return gates.Verdict{Open: true}
}

// closedBy are the conditions of gates that something in this namespace opens: a watch looks for them.
var closedBy = map[string]string{
	kopiurv1.ReasonMissingCredentialsSecret:     kopiurv1.ConditionCredentialsAvailable,
	kopiurv1.ReasonMissingServiceAccount:        kopiurv1.ConditionCredentialsAvailable,
	kopiurv1.ReasonBlockedOnGrant:               kopiurv1.ConditionCredentialsAvailable,
	kopiurv1.ReasonPrivilegedMoverNotPermitted:  kopiurv1.ConditionMoverPermitted,
	kopiurv1.ReasonRepositoryVolumeNotReachable: kopiurv1.ConditionRepositoryReady,
}

func (p Plan) stall(reason, message string) Plan {
	p.Verdict, p.Reason, p.Message = Stalled, reason, message
	return p
}
