// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// questionDeadline of the Job that asks, in seconds.
	questionDeadline = int64(10 * time.Minute / time.Second)
	// questionRest is how long an answer that is none stands before the repository is asked again.
	questionRest = time.Minute
)

// EmptyStart is a Restore that the repository told that there is no snapshot, and that left its volume empty.
type EmptyStart struct {
	Restore string
	At      time.Time
}

// EmptyStartOf finds the one that the first backup of an identity follows; nil where there was none, or the backup is not
// the first. Policy and repository must exist.
func EmptyStartOf(w World, restores []kopiurv1.Restore, snapshots []kopiurv1.Snapshot) *EmptyStart {
	id, fault := IdentityOf(w)
	if fault.Found() || w.History.Latest != nil && *w.History.Latest == id {
		return nil
	}
	for i := range snapshots {
		if st := snapshots[i].Status.Snapshot; st != nil && st.Identity == id {
			return nil
		}
	}
	var out *EmptyStart
	look := func(r *kopiurv1.Restore, res *kopiurv1.RestoreResolved) {
		if res == nil || res.Resolution != kopiurv1.ResolutionNoSnapshot || res.Identity == nil || *res.Identity != id ||
			res.Repository == nil || res.Repository.In(r.Namespace) != w.Repository.Ref {
			return
		}
		at, err := time.Parse(time.RFC3339, res.PinnedAt)
		if err != nil {
			at = r.CreationTimestamp.Time
		}
		if out == nil || at.After(out.At) {
			out = &EmptyStart{Restore: r.Name, At: at}
		}
	}
	for i := range restores {
		look(&restores[i], restores[i].Status.Resolved)
		for _, c := range restores[i].Status.Claims {
			look(&restores[i], c.Resolved)
		}
	}
	return out
}

// history keeps the first backup after an empty start from joining a history that was there all along: retention would
// age the good snapshots out, one empty one after the other (acceptance K-1). The repository is asked once more, before
// anything else happens.
func (g *walk) history() {
	e := g.w.EmptyStart
	if e == nil || g.begun() || acknowledged(g.w.Policy.Annotations[kopiurv1.AnnotationAcknowledgeEmptyStart], e.At, g.now) {
		return
	}
	q := g.w.Question
	o := moverjob.Decide(q.Job, q.Pods, moverjob.DefaultStartupDeadline, g.now)
	switch o.State {
	case moverjob.Absent:
		job, err := buildQuestion(g.w, *e)
		if err != nil {
			g.hold("", kopiurv1.ReasonInvalidSpec, 0, "%s", err)
			return
		}
		g.asking("")
		g.p.Action, g.p.Job = Inquire, job
	case moverjob.Waiting, moverjob.Running, moverjob.NodeLost:
		g.asking(o.Message)
		g.p.After = o.Recheck
	case moverjob.Finished:
		if r := o.Result; r.Code == work.CodeOK && r.Resolve != nil {
			switch r.Resolve.Resolution {
			case work.ResolutionAbsent:
				return
			case work.ResolutionFound:
				g.conflict(*e, r.Resolve)
				return
			case work.ResolutionUnknown:
			}
		}
		g.unanswered(o.Result.Message)
	case moverjob.ResultLost, moverjob.Wedged, moverjob.DeadlineKilled:
		g.unanswered(o.Message)
	}
}

// acknowledged reports whether somebody has said, since the empty start, that it was meant. A time that lies ahead says
// nothing: it would cover what nobody has seen.
func acknowledged(value string, start, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, value)
	return err == nil && !at.Before(start.Truncate(time.Second)) && !at.After(now.Add(validation.FutureSkew))
}

// asking waits for the answer. What was answered before stands until then.
func (g *walk) asking(message string) {
	if was := find(g.w.Snapshot.Status.Conditions, kopiurv1.ConditionHistoryConflict); was != nil && was.Status == metav1.ConditionTrue {
		g.p.Conditions = append(g.p.Conditions, condition(was.Type, true, was.Reason, was.Message))
		g.hold("", was.Reason, 0, "%s", was.Message)
		return
	}
	text := fmt.Sprintf("Restore %s found no snapshot in %s; the repository is asked whether that is still so", g.w.EmptyStart.Restore, g.w.Repository.Ref)
	if message != "" {
		text += ": " + message
	}
	g.hold("", kopiurv1.ReasonResolving, 0, "%s", text)
}

func (g *walk) conflict(e EmptyStart, a *work.ResolveResult) {
	id, _ := IdentityOf(g.w)
	message := fmt.Sprintf("Restore %s found no snapshot and left the volume empty, and %s has %d of %s@%s:%s, with an older one of %s among them. "+
		"Nothing is stored beside them until you decide: restore one, or annotate SnapshotPolicy %s with %s=<the present time>",
		e.Restore, g.w.Repository.Ref, a.Candidates, id.Username, id.Hostname, id.SourcePath, a.StartTime.UTC().Format(time.RFC3339),
		g.w.Policy.Name, kopiurv1.AnnotationAcknowledgeEmptyStart)
	g.p.Conditions = append(g.p.Conditions, condition(kopiurv1.ConditionHistoryConflict, true, kopiurv1.ReasonOlderHistoryFound, message))
	g.hold("", kopiurv1.ReasonOlderHistoryFound, 0, "%s", message)
}

// unanswered lets some time pass and has the Job taken away, so that the next turn asks again.
func (g *walk) unanswered(message string) {
	g.asking("")
	if g.p.Reason == kopiurv1.ReasonResolving {
		g.p.Reason, g.p.Message = kopiurv1.ReasonResolutionUnknown, g.p.Message+", and has not answered: "+message
	}
	job := g.w.Question.Job
	since := job.CreationTimestamp.Time
	for _, c := range job.Status.Conditions {
		if c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	if g.p.After = questionRest - g.now.Sub(since); g.p.After <= 0 {
		g.p.Action, g.p.Lost, g.p.After = Inquire, job, 0
	}
}

// QuestionName is the name of the Job that asks about older snapshots.
func QuestionName(s *kopiurv1.Snapshot) string {
	return moverjob.Name("q", s.Name, s.UID, "resolve", "history")
}

// buildQuestion makes it. It reads no source and takes no privileges but those that the repository itself needs.
func buildQuestion(w World, e EmptyStart) (*batchv1.Job, error) {
	id, _ := IdentityOf(w)
	var layers []*kopiurv1.MoverSpec
	for _, m := range Layers(w.Snapshot, w.Policy) {
		if m != nil {
			layers = append(layers, &kopiurv1.MoverSpec{Resources: m.Resources, Cache: m.Cache})
		}
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: w.Snapshot, GVK: GVK, Letter: "q", Attempt: "history",
		Namespace: w.Snapshot.Namespace, Image: w.Image, PullPolicy: w.PullPolicy, Repository: *w.Repository,
		Operation: work.Operation{Resolve: &work.Resolve{
			Identity: work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath}, AsOf: new(e.At.UTC()),
		}},
		Layers: layers, FailurePolicy: &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}, DefaultDeadlineSeconds: questionDeadline,
	})
	if err != nil {
		return nil, fmt.Errorf("ask about older snapshots of %s: %w", w.Snapshot.Name, err)
	}
	// Nobody misses the answer for long: without its Job the repository is asked again.
	job.Spec.TTLSecondsAfterFinished = new(moverjob.DefaultTTL)
	return job, nil
}
