// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Decide says what comes next for a repository. It is total, and deciding twice about the same facts changes nothing.
func Decide(in Input, now time.Time) Plan {
	p := Plan{Status: *in.Status.DeepCopy()}
	p.Status.Backend = in.Spec.Backend.Name()
	p.Suspended = in.Spec.Suspend
	gate(&p, in)
	switch {
	case in.Flight != nil:
		follow(&p, in, now)
	case in.Spec.Suspend:
		rest(&p, in, 0)
	case in.Refusal.Refused():
		p.Status.Phase = kopiurv1.RepositoryFailed
		p.verdict(Stalled, in.Refusal.Reason, in.Refusal.Message)
	case !in.Creds.Open:
		p.hold(in.Creds.Verdict)
	case !in.Volume.Open:
		p.hold(in.Volume)
		p.condition(kopiurv1.ConditionBackendReachable, metav1.ConditionFalse, in.Volume.Reason, in.Volume.Message)
	case !in.Permitted.Open:
		p.hold(in.Permitted)
	case closeBreaker(&p, in, now):
	default:
		if after, ok := due(in, now); !ok {
			rest(&p, in, after)
			break
		}
		if in.Lingering != "" && in.Status.UniqueID == "" {
			// Two movers that both find the store empty would both create the repository, with two passwords.
			p.Status.Phase = kopiurv1.RepositoryInitializing
			p.verdict(Progressing, kopiurv1.ReasonConnecting, "waiting for the end of pod "+in.Lingering+
				", which connects with older settings; delete it if its node is gone")
			p.After = lingerRecheck
			break
		}
		start(&p, in, now)
	}
	p.bootstrapped()
	p.indexBlobs(in)
	return p
}

// gate reports the gates that were looked at.
func gate(p *Plan, in Input) {
	p.condition(kopiurv1.ConditionCredentialsAvailable, status(in.Creds.Open), in.Creds.Reason, in.Creds.Message)
	if !in.Permitted.Open && in.Permitted.Reason != "" {
		p.condition(kopiurv1.ConditionMoverPermitted, metav1.ConditionFalse, in.Permitted.Reason, in.Permitted.Message)
	}
}

// due reports whether an attempt may start now, or else how long to rest; zero is for ever.
func due(in Input, now time.Time) (time.Duration, bool) {
	s := in.Status
	if !in.SameInputs || s.Job == nil || s.Job.FinishedAt == "" {
		return 0, true
	}
	var wait time.Duration // until the repository's own next attempt; zero is never
	since := now.Sub(timeOf(s.Job.FinishedAt, now))
	switch s.Phase {
	case kopiurv1.RepositoryReady:
		if next := nextLook(in, now); !next.IsZero() {
			if wait = next.Sub(now); wait <= 0 {
				return 0, true
			}
		}
		if s.Job.Failures == 0 { // else the ladder has the say, and the attempt lists as well
			switch l := in.Listing; {
			case l.Due:
				return 0, true
			case l.In > 0 && (wait == 0 || l.In < wait):
				wait = l.In
			}
		}
	case kopiurv1.RepositoryFailed:
		if wait = failedRetry - since; wait <= 0 {
			return 0, true
		}
	case kopiurv1.RepositoryDegraded, kopiurv1.RepositoryInitializing:
		if wait = Ladder(s.Job.Failures) - since; wait <= 0 {
			return 0, true
		}
	case kopiurv1.RepositoryPending:
		if !lacksKey(s) {
			return 0, true // a gate that was closed has opened
		}
	default:
		return 0, true
	}
	asked, ok := reverify(in, now)
	switch {
	case !ok:
		return wait, false
	case asked == 0:
		return 0, true
	case wait == 0 || asked < wait:
		return asked, false
	default:
		return wait, false
	}
}

// reverify reports whether the annotation asks for an attempt that was not made yet, and when it may be made.
func reverify(in Input, now time.Time) (time.Duration, bool) {
	asked, err := time.Parse(time.RFC3339, in.ReverifyAt)
	if err != nil || asked.After(now.Add(futureSkew)) {
		return 0, false
	}
	last, err := time.Parse(time.RFC3339, in.Status.LastReverifyAt)
	if err != nil {
		return 0, true
	}
	if !asked.After(last) {
		return 0, false
	}
	return max(last.Add(reverifyEvery).Sub(now), 0), true
}

// start asks for the next attempt.
func start(p *Plan, in Input, now time.Time) {
	p.honour(in, now)
	p.Status.Job = new(following(p, in))
	p.Status.ResolvedCredentialVersion = in.Creds.Version
	p.Start = true
	p.Probe = in.SameInputs && in.Status.UniqueID != ""
	if p.Probe {
		p.health().ProbeAttemptAt = stamp(now)
	}
	p.list(in, now)
	p.DeadlineSeconds = deadline(in, p.Status.Job.DeadlineKills)
	p.running(in, "")
}

// list makes the attempt a listing where one is due.
func (p *Plan) list(in Input, now time.Time) {
	if !in.Listing.Due {
		return
	}
	p.List = &work.Catalog{After: in.Listing.From}
	if in.Listing.Token == "" {
		return
	}
	if p.Status.Catalog == nil {
		p.Status.Catalog = &kopiurv1.CatalogStatus{}
	}
	p.Status.Catalog.ScanRequestAttemptAt = stamp(now)
}

// honour takes a request for a look as fulfilled by the attempt that starts.
func (p *Plan) honour(in Input, now time.Time) {
	if _, asked := reverify(in, now); !asked {
		return
	}
	honoured := now
	if t, err := time.Parse(time.RFC3339, in.ReverifyAt); err == nil && t.After(now) {
		honoured = t // or a clock that is ahead of ours would be honoured again and again
	}
	p.Status.LastReverifyAt = stamp(honoured)
}

// following is the attempt after the recorded one. What went wrong with other settings says nothing about these.
func following(p *Plan, in Input) kopiurv1.ConnectJob {
	j := kopiurv1.ConnectJob{}
	if in.Status.Job != nil {
		j = *in.Status.Job
	}
	j.Attempts++
	j.Name, j.FinishedAt = "", ""
	if !in.SameInputs {
		j.Failures, j.DeadlineKills = 0, 0
		if h := p.Status.Health; h != nil {
			h.ConsecutiveProbeFailures, h.FirstFailureAt = 0, ""
		}
	}
	return j
}

// usable reports whether the repository may go on being used whatever the attempt that runs or has ended without an
// answer: it was Ready with these settings, or only its credentials changed, and movers mount the new ones already.
func usable(in Input) bool {
	return in.Status.Phase == kopiurv1.RepositoryReady && (in.SameInputs || in.Status.ObservedGeneration == in.Generation)
}

// running sums up a repository while its Job runs. One whose settings are the same stays what it was: a look at the
// store is no reason to hold back backups, nor to forget a failure.
func (p *Plan) running(in Input, waitsFor string) {
	settled := in.Status.Phase == kopiurv1.RepositoryReady || in.Status.Phase == kopiurv1.RepositoryDegraded || in.Status.Phase == kopiurv1.RepositoryFailed
	if settled && in.SameInputs {
		p.Verdict = Keep
		return
	}
	if usable(in) {
		p.Verdict = Keep
		return
	}
	p.Status.Phase = kopiurv1.RepositoryInitializing
	message := "connecting to " + Where(in.Spec.Backend)
	if waitsFor != "" {
		message = "the connect Job waits: " + waitsFor
	}
	p.verdict(Progressing, kopiurv1.ReasonConnecting, message)
}

// follow looks at the attempt in flight.
func follow(p *Plan, in Input, now time.Time) {
	f := in.Flight
	if j := p.Status.Job; j == nil || j.Name != f.Name {
		// Made, and the process ended before it could say so.
		job := following(p, in)
		job.Attempts = f.Attempt
		p.Status.Job = &job
		p.honour(in, now)
	}
	p.Status.Job.Name = f.Name
	p.Status.ResolvedCredentialVersion = in.Creds.Version
	switch f.Outcome.State {
	case moverjob.Running:
		p.running(in, "")
		p.After = f.Outcome.Recheck
	case moverjob.Waiting:
		waitsFor := f.Outcome.Message
		if f.Outcome.Starting {
			waitsFor = ""
		}
		p.running(in, waitsFor)
		p.After = f.Outcome.Recheck
	case moverjob.NodeLost:
		if in.Status.UniqueID != "" {
			// A look that never ends must not be the last one. Only where the repository may still be created do two of them
			// stand in each other's way.
			p.Status.Failure = &kopiurv1.Failure{
				KopiaErrorClass: kopiurv1.ReasonNodeLost, Message: f.Outcome.Message, RetryRecommended: true, Op: "bootstrap",
			}
			inconclusive(p, in, kopiurv1.ReasonNodeLost, "the node of the pod that connects does not answer; another pod is started", now)
			return
		}
		p.verdict(Progressing, kopiurv1.ReasonNodeLost, f.Outcome.Message)
		p.Status.Phase = kopiurv1.RepositoryInitializing
		p.After = f.Outcome.Recheck
	case moverjob.Finished:
		record(p, in, *f.Outcome.Result, now)
		p.Status.Failure = moverjob.Failure(f.Outcome)
	case moverjob.DeadlineKilled:
		p.Status.Failure = &kopiurv1.Failure{
			KopiaErrorClass: kopiurv1.ReasonDeadlineKilled, Message: f.Outcome.Message, RetryRecommended: true, Op: "bootstrap",
		}
		slow(p, in, now)
	case moverjob.Wedged:
		p.Status.Failure = &kopiurv1.Failure{
			KopiaErrorClass: kopiurv1.ReasonMoverPodWedged, Message: f.Outcome.Message, RetryRecommended: true, Op: "bootstrap",
		}
		inconclusive(p, in, kopiurv1.ReasonMoverPodWedged, "the pod that connects did not start: "+f.Outcome.Message, now)
	case moverjob.ResultLost, moverjob.Absent:
		p.Status.Failure = &kopiurv1.Failure{
			KopiaErrorClass: string(work.CodeLost), Message: "the connect Job went away before its result was read", RetryRecommended: true, Op: "bootstrap",
		}
		inconclusive(p, in, kopiurv1.ReasonBootstrapJobFailed, "the connect Job went away before its result was read; it is tried again", now)
	}
}

// rest keeps what was said before.
func rest(p *Plan, in Input, after time.Duration) {
	p.Verdict, p.After = Keep, after
	if in.Status.Phase == "" {
		p.Status.Phase = kopiurv1.RepositoryPending
	}
	if in.Status.Phase == kopiurv1.RepositoryPending && lacksKey(in.Status) {
		// The Secret exists; what is in it only a mover knows, and the last one missed a key.
		p.Carry = append(p.Carry, kopiurv1.ConditionCredentialsAvailable)
	}
}

// lacksKey reports whether the last mover missed a key of a Secret.
func lacksKey(s kopiurv1.RepositoryStatus) bool {
	return s.Failure != nil && s.Failure.KopiaErrorClass == string(work.CodeMissingCredentials)
}

// hold is a gate that waits for somebody else.
func (p *Plan) hold(v gates.Verdict) {
	p.Status.Phase = kopiurv1.RepositoryPending
	p.verdict(Progressing, v.Reason, v.Message)
}

func (p *Plan) verdict(v Verdict, reason, message string) {
	p.Verdict, p.Reason, p.Message = v, reason, message
}

func (p *Plan) condition(kind string, s metav1.ConditionStatus, reason, message string) {
	p.Conditions = append(p.Conditions, Condition{kind, s, reason, message})
}

// bootstrapped says whether the repository was ever reached.
func (p *Plan) bootstrapped() {
	if id := p.Status.UniqueID; id != "" {
		p.condition(kopiurv1.ConditionBootstrapped, metav1.ConditionTrue, kopiurv1.ReasonSucceeded, "the repository's unique id is "+id)
		return
	}
	// One reason for all that may stand in the way: Ready has the details, and this must not change with them.
	p.condition(kopiurv1.ConditionBootstrapped, metav1.ConditionFalse, kopiurv1.ReasonConnecting, "the repository was not connected to yet")
}

func status(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOf reads a stored time; one that cannot be read counts as long ago.
func timeOf(s string, now time.Time) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return now.Add(-24 * time.Hour)
	}
	return t
}
