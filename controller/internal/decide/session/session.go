// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// letter begins the names of the Jobs.
const letter = "l"

// GVK of the owner of the Jobs.
var GVK = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// World is all that a decision looks at.
type World struct {
	// ConfigMap as it was read.
	ConfigMap *corev1.ConfigMap
	// Request in it, or Refusal, which says why there is none.
	Request session.Request
	Refusal string
	// Repository that is asked for; nil where there is none.
	Repository *moverjob.Repository
	// Credentials and Volume are what its movers mount in the session's namespace.
	Credentials gates.Credentials
	Volume      gates.Verdict
	// NamespaceLabels and NamespaceAnnotations, read live.
	NamespaceLabels, NamespaceAnnotations map[string]string
	// Job of the session, nil where there is none, and what it amounts to.
	Job     *batchv1.Job
	Outcome moverjob.Outcome

	// Image of the movers.
	Image      moverjob.Images
	PullPolicy corev1.PullPolicy
}

// Plan is what to do, in the order of its fields, and what to say.
type Plan struct {
	// Job to make.
	Job *batchv1.Job
	// Answer replaces the one that is written.
	Answer session.Answer
	// Reap is a Job to delete.
	Reap *batchv1.Job
	// Over: the ConfigMap is deleted. Words says why, for those who look at the events.
	Over  bool
	Words string
	// After is when to look again at the latest; zero leaves it to the watches.
	After time.Duration
}

// JobName is the name of a session's Job.
func JobName(cm *corev1.ConfigMap) string {
	return moverjob.Name(letter, cm.Name, cm.UID, work.Operation{Browse: &work.Browse{}}.Name(), "0")
}

// Decide is total, and deciding twice on the same world gives the same plan. now is the API server's time.
func Decide(w World, now time.Time) Plan {
	d := decision{World: w, now: now, stored: session.Read(w.ConfigMap)}
	age := now.Sub(w.ConfigMap.CreationTimestamp.Time)
	switch {
	case d.stored.State.Final():
		return d.kept()
	case age >= session.MaxAge:
		return d.over("it is %s old, and none gets older", session.MaxAge)
	case w.Job != nil:
		return d.follow(session.MaxAge - age)
	case d.stored.State != session.Unseen:
		return d.over("its Job was deleted")
	default:
		return d.begin()
	}
}

type decision struct {
	World
	now    time.Time
	stored session.Answer
}

// say gives an answer. One that says nothing new keeps its time.
func (d decision) say(state session.State, reason, format string, args ...any) Plan {
	a := session.Answer{State: state, Reason: reason, Message: fmt.Sprintf(format, args...), Since: d.now.UTC().Truncate(time.Second)}
	if state == d.stored.State {
		a.Since = d.stored.Since
	}
	return Plan{Answer: a}
}

// refuse ends a session before it began.
func (d decision) refuse(reason, format string, args ...any) Plan {
	p := d.say(session.Refused, reason, format, args...)
	p.After = session.Kept
	return p
}

// fail ends one that has a Job. A pod that hangs must not come to life later; one that has ended stays for its log.
func (d decision) fail(reason, format string, args ...any) Plan {
	p := d.say(session.Failed, reason, format, args...)
	p.After = session.Kept
	if d.Outcome.State != moverjob.Finished {
		p.Reap = d.Job
	}
	return p
}

func (d decision) over(format string, args ...any) Plan {
	return Plan{Answer: d.stored, Reap: d.Job, Over: true, Words: "the session is over: " + fmt.Sprintf(format, args...)}
}

// kept leaves a session that came to nothing to be read about, for a while.
func (d decision) kept() Plan {
	if rest := session.Kept - d.now.Sub(d.stored.Since); rest > 0 && rest <= session.Kept {
		p := Plan{Answer: d.stored, After: rest}
		if d.Outcome.State != moverjob.Finished && !d.Outcome.Terminal {
			p.Reap = d.Job
		}
		return p
	}
	return d.over("it was %s", map[session.State]string{session.Refused: "refused", session.Failed: "a failure"}[d.stored.State])
}

// begin passes the gates and makes the Job.
func (d decision) begin() Plan {
	if d.Refusal != "" {
		return d.refuse(kopiurv1.ReasonInvalidSpec, "%s: delete it, kopiurctl makes them as they have to be", d.Refusal)
	}
	for _, v := range []gates.Verdict{d.repository(), d.Volume, d.Credentials.Verdict} {
		if !v.Open {
			return d.refuse(v.Reason, "%s", v.Message)
		}
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: d.ConfigMap, GVK: GVK, Letter: letter, Attempt: "0", Namespace: d.ConfigMap.Namespace,
		Image: d.Image, PullPolicy: d.PullPolicy, Repository: *d.Repository,
		Operation: work.Operation{Browse: &work.Browse{SessionSeconds: int64(d.Request.TTL / time.Second)}},
		// Whoever asked sees a failure and asks again; no second pod opens a repository that nobody looks into.
		FailurePolicy: &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}, DefaultDeadlineSeconds: int64(session.MaxAge / time.Second),
		Labels: session.Labels(d.Request.Repository),
	})
	if err != nil {
		return d.refuse(kopiurv1.ReasonInvalidSpec, "%s", err)
	}
	if v := gates.Privileges(job.Spec.Template.Spec, d.ConfigMap.Namespace, d.NamespaceAnnotations); !v.Open {
		return d.refuse(v.Reason, "%s", v.Message)
	}
	p := d.starting("the mover's pod starts")
	p.Job, p.After = job, moverjob.DefaultStartupDeadline
	return p
}

// repository may be read from here: sessions change nothing, and slow is not down.
func (d decision) repository() gates.Verdict {
	name := d.Request.Repository.String()
	if r := d.Repository; r != nil && !r.Allowed.Allows(d.ConfigMap.Namespace, d.NamespaceLabels) {
		return gates.Repository(name, r, false)
	}
	return gates.Readable(name, d.Repository)
}

func (d decision) starting(message string) Plan {
	return d.say(session.Starting, kopiurv1.ReasonMoverStarting, "%s", message)
}

// follow says how the Job does. left is what is left of the age that a session may reach.
func (d decision) follow(left time.Duration) Plan {
	o := d.Outcome
	switch o.State {
	case moverjob.Running:
		p := d.say(session.Open, kopiurv1.ReasonSessionOpen, "%s is open for questions; it is closed when none comes for %s, and at the latest after %s",
			d.Request.Repository, d.Request.TTL, session.MaxAge)
		p.Answer.Pod, p.After = o.PodName, left
		return p
	case moverjob.Finished:
		if o.Result.Code == work.CodeOK {
			return d.over("nobody asked for as long as it was to last, or its mover was told to end")
		}
		return d.fail(kopiurv1.ReasonSessionFailed, "the session's mover ended: %s: %s", o.Result.Code, o.Result.Message)
	case moverjob.Wedged:
		return d.fail(kopiurv1.ReasonMoverPodWedged, "the session's pod did not start in %s: %s", moverjob.DefaultStartupDeadline, o.Message)
	case moverjob.NodeLost:
		return d.fail(kopiurv1.ReasonNodeLost, "%s", o.Message)
	case moverjob.ResultLost, moverjob.DeadlineKilled:
		return d.over("%s", o.Message)
	default:
		message := o.Message
		if o.Starting {
			message = "the mover's pod starts"
		}
		p := d.starting(message)
		p.After = o.Recheck
		return p
	}
}
