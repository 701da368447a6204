// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// maxMessage bounds what the status says about a run.
const maxMessage = 1024

// Line is one verification that comes round, whoever asks for it: a tier of a policy in one repository, or a replica.
type Line struct {
	// Run is what the status says of it.
	Run  kopiurv1.VerificationRun
	Rule due.Rule
	// Job is that of the turn that is due, with what its pods say; nil where there is none.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	// Name of the Job of a pinned turn.
	Name func(kopiurv1.VerificationRun) string
	// Gate is why a turn that is due may not start.
	Gate func() gates.Verdict
	// Judge has the last word about a result without faults: true lets it count. Nil does.
	Judge func(Plan, Line, time.Time) (Plan, bool)
	// Whole: all snapshots are walked, and one is restored.
	Whole bool
	// Gone are further codes that mean that there is nothing to restore from any more.
	Gone []work.Code
}

func (l Line) plan() Plan { return Plan{Run: l.Run, Waiting: gates.Verdict{Open: true}} }

// Unreadable is the plan of a line whose schedule cannot be read.
func Unreadable(run kopiurv1.VerificationRun, message string) Plan {
	run.NextScheduledAt, run.Schedule, run.Job = "", "", ""
	return Plan{Run: run, Waiting: gates.Verdict{Reason: kopiurv1.ReasonInvalidSchedule, Message: message}}
}

// Decide is total: it has an answer for every state of a line.
func (l Line) Decide(now time.Time) Plan {
	if l.Job != nil {
		return l.watch(now)
	}
	p := l.plan()
	p.Run.Job = ""
	pin := l.Rule.Keep(due.Read(p.Run.NextScheduledAt, p.Run.Schedule), now)
	p.Run.NextScheduledAt, p.Run.Schedule = pin.String(), pin.Rule
	if rest := pin.At.Sub(now); rest > 0 {
		p.After = rest
		return p
	}
	if p.Waiting = l.Gate(); !p.Waiting.Open {
		if p.After = look; p.Waiting.Reason == kopiurv1.ReasonVerificationWaiting {
			p.After = turn
		}
		return p
	}
	p.Start, p.Run.Job = true, l.Name(p.Run)
	p.After = look // its own events come before that
	return p
}

// watch follows the Job of the turn.
func (l Line) watch(now time.Time) Plan {
	p := l.plan()
	p.Run.Job = l.Job.Name
	o := l.Outcome
	switch o.State {
	case moverjob.Absent, moverjob.Waiting, moverjob.Running:
		p.After = sooner(look, o.Recheck)
		p.Waiting = gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + l.Job.Name + " verifies"}
		return p
	case moverjob.Finished:
		return l.finished(p, now)
	case moverjob.ResultLost, moverjob.Wedged, moverjob.DeadlineKilled, moverjob.NodeLost:
	}
	reason := map[moverjob.State]string{
		moverjob.ResultLost: "its result was lost", moverjob.Wedged: "its pod did not start",
		moverjob.DeadlineKilled: "its time was up", moverjob.NodeLost: "its node was lost",
	}[o.State]
	return p.unproven(l.Rule, now, reason+": "+o.Message)
}

// finished judges a result: the mover's word first, then whoever else has one.
func (l Line) finished(p Plan, now time.Time) Plan {
	r := l.Outcome.Result
	switch {
	case r.Code == work.CodeVerificationFailed || slices.Contains(l.Gone, r.Code):
		p = p.count(r.Verify)
		return p.end(l.Rule, now, kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, r.Message+faults(r.Verify))
	case r.Code == work.CodeNotFound:
		return p.nothing(l.Rule, now, r.Message)
	case r.Code == work.CodeScratchNotWritable:
		p = p.unproven(l.Rule, now, r.Message)
		p.Run.Reason = kopiurv1.ReasonScratchNotWritable
		return p
	case r.Code != work.CodeOK:
		return p.unproven(l.Rule, now, string(r.Code)+": "+r.Message)
	case r.Verify == nil:
		return p.unproven(l.Rule, now, "the mover says that it verified, and not what")
	}
	p = p.count(r.Verify)
	if l.Judge != nil {
		judged, counts := l.Judge(p, l, now)
		if !counts {
			return judged
		}
	}
	p = p.end(l.Rule, now, kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, success(r.Verify, l.Whole || r.Verify.Restored == nil))
	at := r.EndTime
	if at.IsZero() {
		at = now
	}
	p.Stamp = at.UTC().Format(time.RFC3339)
	return p
}

func sooner(a, b time.Duration) time.Duration {
	if b > 0 {
		return min(a, b)
	}
	return a
}

func success(r *work.VerifyResult, walked bool) string {
	var said []string
	if walked {
		said = append(said, fmt.Sprintf("%d snapshots with %d files have all they consist of; %d files were read to the end", r.Snapshots, r.Files, r.FilesRead))
	}
	if r.Restored != nil {
		said = append(said, fmt.Sprintf("the newest snapshot was restored: %d files, %d bytes, all of them as stored", r.Restored.Files, r.Restored.Bytes))
	}
	return strings.Join(said, "; ")
}

// faults names the first of them.
func faults(r *work.VerifyResult) string {
	if r == nil || len(r.Faults) == 0 {
		return ""
	}
	return "; the first is " + r.Faults[0].Path + ": " + r.Faults[0].Reason
}

func (p Plan) count(r *work.VerifyResult) Plan {
	if r != nil {
		p.Run.Snapshots, p.Run.Files, p.Run.Bytes, p.Run.Errors = r.Snapshots, r.Files, r.Bytes, r.Errors
	}
	return p
}

// end records a run, and pins the next one.
func (p Plan) end(rule due.Rule, now time.Time, o kopiurv1.VerificationOutcome, reason, message string) Plan {
	r := &p.Run
	r.LastHandledAt, r.LastRunAt = r.NextScheduledAt, now.UTC().Format(time.RFC3339)
	r.Outcome, r.Reason, r.Message, r.LogTail = o, reason, work.Clip(message, maxMessage), ""
	if o == kopiurv1.VerificationSucceeded {
		r.ConsecutiveFailures = 0
	} else {
		r.ConsecutiveFailures++
	}
	return p.next(rule.Next(now), now)
}

// unproven is a run that came to no answer. What an earlier one proved, or disproved, stays as it was.
func (p Plan) unproven(rule due.Rule, now time.Time, message string) Plan {
	was := p.Run
	p = p.end(rule, now, kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, message)
	if was.Outcome == kopiurv1.VerificationFailed {
		// An outage must not make known damage look better.
		p.Run.Outcome, p.Run.Reason, p.Run.Message, p.Run.LogTail = was.Outcome, was.Reason, was.Message, was.LogTail
	}
	return p.next(rule.Retry(now, retry), now)
}

// nothing is a run that found no complete snapshot: it waits for one, and is no failure (I-5).
func (p Plan) nothing(rule due.Rule, now time.Time, message string) Plan {
	failures := p.Run.ConsecutiveFailures
	p = p.end(rule, now, "", kopiurv1.ReasonWaitingForFirstSnapshot, message)
	p.Run.ConsecutiveFailures = failures
	return p.next(rule.Next(now), now)
}

func (p Plan) next(pin due.Pin, now time.Time) Plan {
	p.Run.NextScheduledAt, p.Run.Schedule, p.Run.Job = pin.String(), pin.Rule, ""
	p.Recorded, p.After = true, pin.At.Sub(now)
	return p
}
