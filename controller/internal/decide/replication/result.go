// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const maxMessage = 1024

// watch follows the Job that is under way. It goes on under suspend: what was begun is brought to its end.
func (w World) watch(p Plan, now time.Time) Plan {
	p.Status.Job = &kopiurv1.JobStatus{Name: w.Job.Name, Attempts: w.Outcome.Attempts}
	if m := w.asked(&p); m != nil {
		m.Phase = kopiurv1.RunRunning
	}
	o := w.Outcome
	switch o.State {
	case moverjob.Absent, moverjob.Waiting, moverjob.Running:
		p = p.copying(w.Replication)
		if o.State == moverjob.Waiting && !o.Starting && o.Message != "" {
			p.Message = o.Message
		}
		if t := w.Tail.StatusProgress(); t != nil {
			p.Status.Progress = t
		}
		p.After = Look
		if o.State == moverjob.Running {
			p.After = work.ProgressInterval(w.ranFor(now))
		}
		if o.Recheck > 0 {
			p.After = min(p.After, o.Recheck)
		}
		return p
	case moverjob.NodeLost:
		// Behind a node that does not answer a mover may still be at work: nothing is started beside it.
		p = p.copying(w.Replication)
		p.Reason, p.Message, p.After = kopiurv1.ReasonNodeLost, o.Message, Look
		return p
	case moverjob.Finished:
		if o.Result.Code == work.CodeOK && o.Result.Replicate != nil {
			return w.succeeded(p, now)
		}
		return w.failed(p, now, string(work.CodeUnknown), "the mover says that it copied, and not what")
	case moverjob.ResultLost:
		return w.failed(p, now, string(work.CodeLost), "the result was lost: "+o.Message)
	case moverjob.Wedged:
		return w.failed(p, now, kopiurv1.ReasonMoverPodWedged, "the mover's pod did not start: "+o.Message)
	case moverjob.DeadlineKilled:
		return w.failed(p, now, kopiurv1.ReasonDeadlineKilled, "the time was up: "+o.Message)
	}
	return p
}

// asked is the request that the turn answers, nil where it answers none, or where somebody has asked for another since.
func (w World) asked(p *Plan) *kopiurv1.ManualRun {
	if m := p.Status.ManualRun; w.Turn.Manual && m != nil && m.RequestedAt == w.Turn.At {
		return m
	}
	return nil
}

func (w World) ranFor(now time.Time) time.Duration {
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
	return err != nil || since < 0 || since >= work.ProgressInterval(w.ranFor(now))
}

// end ends the turn: its time does not come back. The schedule goes on from here, after a run that was asked for too.
func (w World) end(p *Plan, now time.Time, phase kopiurv1.RunPhase) {
	p.Recorded, p.Status.Job, p.Status.Progress, p.Status.LogTail = true, nil, nil, w.Tail.Text
	if m := w.asked(p); m != nil {
		m.Phase, m.CompletedAt = phase, stamp(now)
	}
	p.After = time.Second // its Job is let go then
}

// next pins the turn after this one. A schedule that cannot be read pins nothing: the next look says so.
func (w World) next(p *Plan, pin func(due.Rule) due.Pin) {
	p.Status.NextScheduledAt, p.Status.Schedule = "", ""
	if r, err := rule(w); err == nil {
		next := pin(r)
		p.Status.NextScheduledAt, p.Status.Schedule = next.String(), next.Rule
	}
}

func (w World) succeeded(p Plan, now time.Time) Plan {
	r := w.Outcome.Result
	w.end(&p, now, kopiurv1.RunSucceeded)
	w.next(&p, func(r due.Rule) due.Pin { return r.Next(now) })
	st := &p.Status
	at := r.EndTime
	if at.IsZero() {
		at = now
	}
	st.LastReplicated = stamp(at)
	st.LastReplicatedBlobs, st.LastReplicatedBytes = new(r.Replicate.BlobsCopied), new(r.Replicate.BytesCopied)
	st.BlobsTotal, st.BytesTotal, st.BlobsExtra = new(r.Replicate.BlobsTotal), new(r.Replicate.BytesTotal), new(r.Replicate.BlobsExtra)
	st.Failure, st.ConsecutiveFailures = nil, 0
	p.Succeeded = true
	return p.standing()
}

// failed ends a run that did not succeed. What may pass by itself is tried again soon, and less and less often; what does
// not, with the next turn of the schedule, or as soon as the spec or a Secret changes.
func (w World) failed(p Plan, now time.Time, class, message string) Plan {
	w.end(&p, now, kopiurv1.RunFailed)
	st := &p.Status
	st.ConsecutiveFailures++
	st.Failure = moverjob.Failure(w.Outcome)
	if st.Failure == nil {
		st.Failure = &kopiurv1.Failure{KopiaErrorClass: class, Message: work.Clip(message, maxMessage), RetryRecommended: true, Op: Operation}
	}
	w.next(&p, func(r due.Rule) due.Pin {
		if st.Failure.RetryRecommended {
			return r.Retry(now, connect.Ladder(st.ConsecutiveFailures))
		}
		return r.Next(now)
	})
	return p.standing()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
