// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

const (
	defaultInterval        = 30 * time.Minute
	defaultThreshold int32 = 3
	// shortestInterval is what admission asks for; an object may have been stored without it.
	shortestInterval = 30 * time.Second
	// countEvery is how old the numbers in status may grow while other movers prove that the store answers: only a connect
	// of our own counts snapshots and index blobs.
	countEvery = 6 * time.Hour
)

// Probe is spec.health.probe with its defaults.
type Probe struct {
	Enabled          bool
	Interval         time.Duration
	FailureThreshold int32
	OnFailure        kopiurv1.ProbeFailureAction
}

// ProbeOf fills in what the spec leaves out.
func ProbeOf(s kopiurv1.RepositorySpec) Probe {
	p := Probe{Enabled: true, Interval: defaultInterval, FailureThreshold: defaultThreshold, OnFailure: kopiurv1.ProbeDegrade}
	if s.Health == nil || s.Health.Probe == nil {
		return p
	}
	h := s.Health.Probe
	if h.Enabled != nil {
		p.Enabled = *h.Enabled
	}
	if d, err := h.Interval.Parse(defaultInterval); err == nil {
		p.Interval = max(d, shortestInterval)
	}
	if h.FailureThreshold != nil {
		p.FailureThreshold = max(*h.FailureThreshold, 1)
	}
	if h.OnFailure != "" {
		p.OnFailure = h.OnFailure
	}
	return p
}

// nextLook is when a Ready repository is looked at again, the zero time where that is never. It counts from the end of
// the last look: from its beginning, a slow one would be followed by the next at once (acceptance C-5). Another mover
// that succeeded is a look as good as ours, and costs nothing (acceptance C-9).
func nextLook(in Input, now time.Time) time.Time {
	j := in.Status.Job
	finished := timeOf(j.FinishedAt, now)
	if j.Failures > 0 {
		return finished.Add(Ladder(j.Failures))
	}
	probe := ProbeOf(in.Spec)
	if !probe.Enabled {
		return time.Time{}
	}
	seen := finished
	if in.OthersSucceededAt.After(seen) {
		seen = in.OthersSucceededAt
	}
	next, latest := seen.Add(probe.Interval), finished.Add(max(probe.Interval, countEvery))
	if latest.Before(next) {
		return latest
	}
	return next
}

// closeBreaker ends a row of failures where another mover has used the repository since the last of them: the store answers,
// whatever our own connects found. It reports whether it did.
func closeBreaker(p *Plan, in Input, now time.Time) bool {
	s := in.Status
	inUse := s.Phase == kopiurv1.RepositoryReady || s.Phase == kopiurv1.RepositoryDegraded
	if !in.SameInputs || !inUse || s.UniqueID == "" || s.Job == nil || s.Job.FinishedAt == "" || s.Job.Failures == 0 {
		return false
	}
	if !in.OthersSucceededAt.After(timeOf(s.Job.FinishedAt, now)) {
		return false
	}
	p.Status.Job.Failures, p.Status.Job.DeadlineKills = 0, 0
	p.Status.Failure = nil
	p.Status.Phase = kopiurv1.RepositoryReady
	h := p.health()
	h.ConsecutiveProbeFailures, h.FirstFailureAt, h.LastHealthyAt = 0, "", stamp(in.OthersSucceededAt)
	p.set(kopiurv1.ConditionBackendReachable, metav1.ConditionTrue, kopiurv1.ReasonReachable, "another mover has used the repository")
	p.verdict(Ready, kopiurv1.ReasonReachable, usableMessage)
	p.Note = "another mover has used the repository"
	in.Status = p.Status
	if next := nextLook(in, now); !next.IsZero() {
		p.After = max(next.Sub(now), time.Second)
	}
	return true
}
