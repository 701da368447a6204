// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// OpPin is the mover's operation.
	OpPin = "pin"
	// pinRetry is the rest after a pin Job that failed, pinRecheck after a gate that was closed.
	pinRetry, pinRecheck = 10 * time.Minute, time.Minute
)

// Pinnable reports whether a Snapshot stands for something in a repository that could be pinned.
func Pinnable(s *kopiurv1.Snapshot) bool {
	return s.Status.Phase == kopiurv1.SnapshotSucceeded && s.Status.Snapshot != nil && s.Status.Snapshot.KopiaSnapshotID != ""
}

// PinDue reports whether it is not pinned as it should be.
func PinDue(s *kopiurv1.Snapshot) bool { return Pinnable(s) && s.Spec.Pin != pinned(s) }

func pinned(s *kopiurv1.Snapshot) bool { return s.Status.Pinned != nil && *s.Status.Pinned }

// pin brings the repository's pin in line with the spec. There is at most one pin Job of a Snapshot: what it answers is
// recorded, then it is deleted, and only then another may be made. A Job that is left behind could otherwise pass for the
// answer to a later toggle (acceptance J-5).
func pin(w World, p Plan, now time.Time) Plan {
	if len(w.PinJobs) > 0 {
		return followPin(w, p, now)
	}
	s := w.Snapshot
	if !PinDue(s) {
		return p
	}
	if was := find(s.Status.Conditions, kopiurv1.ConditionPinned); was != nil && was.Reason == kopiurv1.ReasonPinJobFailed {
		if left := pinRetry - now.Sub(was.LastTransitionTime.Time); left > 0 {
			p.Action, p.After = PinWait, left
			p.Conditions = []metav1.Condition{*was}
			return p
		}
	}
	hold := func(reason, message string) Plan {
		p.Action, p.After = PinWait, pinRecheck
		p.Conditions = []metav1.Condition{condition(kopiurv1.ConditionPinned, false, reason, message)}
		return p
	}
	name := "the repository"
	if r := s.Status.Resolved; r != nil && r.Repository != nil {
		name = r.Repository.In(s.Namespace).String()
	}
	if w.Repository != nil && w.Repository.Spec.Mode == kopiurv1.ModeReadOnly {
		return hold(kopiurv1.ReasonRepositoryReadOnly, name+" has mode ReadOnly: pins cannot be changed in it")
	}
	if v := gates.Repository(name, w.Repository, true); !v.Open {
		return hold(v.Reason, v.Message)
	}
	if v := w.RepositoryVolume; !v.Open {
		return hold(v.Reason, v.Message)
	}
	if v := w.Credentials; !v.Open {
		return hold(v.Reason, v.Message)
	}
	job, err := buildPin(w)
	if err != nil {
		return hold(kopiurv1.ReasonInvalidSpec, err.Error())
	}
	if len(moverjob.Privileges(job.Spec.Template.Spec)) > 0 && !w.asked(AskNamespace) {
		return Plan{Ask: AskNamespace}
	}
	var annotations map[string]string
	if w.Namespace != nil {
		annotations = w.Namespace.Annotations
	}
	if v := gates.Privileges(job.Spec.Template.Spec, s.Namespace, annotations); !v.Open {
		return hold(v.Reason, v.Message)
	}
	p.Action, p.Job, p.After = PinStart, job, pinRecheck
	p.Conditions = []metav1.Condition{pinRunning(s.Spec.Pin, "")}
	return p
}

func pinRunning(target bool, message string) metav1.Condition {
	text := "Job is unpinning the snapshot"
	if target {
		text = "Job is pinning the snapshot"
	}
	if message != "" {
		text += ": " + message
	}
	return metav1.Condition{Type: kopiurv1.ConditionPinned, Status: metav1.ConditionUnknown, Reason: kopiurv1.ReasonPinJobRunning, Message: text}
}

// PinTarget is what a pin Job is to bring about.
func PinTarget(job *batchv1.Job) bool { return job.Annotations[kopiurv1.AnnotationPinTarget] == "true" }

// followPin looks at the pin Job that there is.
func followPin(w World, p Plan, now time.Time) Plan {
	s, job := w.Snapshot, w.PinJobs[0].Job
	p.Job, p.After = job, pinRecheck
	if job.DeletionTimestamp != nil {
		p.Action = PinWait // on its way out; its last event comes
		return p
	}
	o := moverjob.Decide(job, w.PinJobs[0].Pods, moverjob.DefaultStartupDeadline, w.server(now))
	switch o.State {
	case moverjob.Running, moverjob.Waiting, moverjob.NodeLost:
		p.Action = PinWait
		p.Conditions = []metav1.Condition{pinRunning(PinTarget(job), waitingWords(o))}
		return p
	case moverjob.Finished:
		if r := o.Result; r != nil && r.Code == work.CodeOK && r.Pin != nil && r.Pin.SnapshotID != "" {
			if pinned(s) == r.Pin.Pinned && s.Status.Pinned != nil && s.Status.Snapshot.KopiaSnapshotID == r.Pin.SnapshotID {
				p.Action = Reap // recorded before, consumed now
				return p
			}
			p.Action, p.Outcome = PinRecord, o
			p.Conditions = []metav1.Condition{pinRecorded(r.Pin)}
			return p
		}
		return pinFailed(p, o.Result)
	case moverjob.ResultLost, moverjob.Wedged, moverjob.DeadlineKilled, moverjob.Absent:
		if s.Status.Pinned != nil && pinned(s) == PinTarget(job) {
			// Its answer is recorded. It is being deleted, and its pods are gone before the cache knows that it is.
			p.Action = Reap
			return p
		}
		return pinFailed(p, &work.Result{Message: o.Message})
	}
	return p
}

func waitingWords(o moverjob.Outcome) string {
	if o.State == moverjob.Running {
		return ""
	}
	return o.Message
}

func pinRecorded(r *work.PinResult) metav1.Condition {
	message := "the snapshot is called " + r.SnapshotID + " now"
	if r.OtherPins > 0 {
		message += fmt.Sprintf("; %d pins of others are left alone", r.OtherPins)
	}
	if r.Pinned {
		return condition(kopiurv1.ConditionPinned, true, kopiurv1.ReasonPinned, "pinned; "+message)
	}
	return condition(kopiurv1.ConditionPinned, false, kopiurv1.ReasonUnpinned, "not pinned any more; "+message)
}

// pinFailed says why, and deletes the Job: it is tried again after a rest, under the same name.
func pinFailed(p Plan, r *work.Result) Plan {
	message := "the mover ended without a result"
	if r != nil && r.Message != "" {
		message = r.Message
	}
	if r != nil && r.Code != "" {
		message = string(r.Code) + ": " + message
	}
	p.Action = PinFail
	p.Conditions = []metav1.Condition{condition(kopiurv1.ConditionPinned, false, kopiurv1.ReasonPinJobFailed, message)}
	return p
}

// buildPin makes the Job. Its name derives from what is to be done to which manifest: pinning gives it another id, so the
// next toggle has another name.
func buildPin(w World) (*batchv1.Job, error) {
	s := w.Snapshot
	st := s.Status.Snapshot
	key := work.SnapshotKey{
		SnapshotID: st.KopiaSnapshotID,
		Identity:   work.Identity{Username: st.Identity.Username, Hostname: st.Identity.Hostname, Path: st.Identity.SourcePath},
	}
	if t := s.Status.Timing; t != nil {
		if start, err := time.Parse(time.RFC3339, t.StartTime); err == nil {
			key.StartTime = start
		}
	}
	// Nothing of the settings for reading the source: a pin takes no privileges.
	var layers []*kopiurv1.MoverSpec
	for _, m := range Layers(s, w.Policy) {
		if m != nil {
			layers = append(layers, &kopiurv1.MoverSpec{Resources: m.Resources, Cache: m.Cache})
		}
	}
	target := strconv.FormatBool(s.Spec.Pin)
	job, err := moverjob.Build(moverjob.Request{
		Owner: s, GVK: GVK, Letter: "p", Attempt: target + "/" + st.KopiaSnapshotID,
		Namespace: s.Namespace, Image: w.Image, PullPolicy: w.PullPolicy, Repository: *w.Repository,
		Operation: work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: s.Spec.Pin}},
		Layers:    layers, DefaultDeadlineSeconds: int64(time.Hour / time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("pin snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationPinTarget: target}
	return job, nil
}
