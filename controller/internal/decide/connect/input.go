// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Input is what was observed of one repository.
type Input struct {
	Spec   kopiurv1.RepositorySpec
	Status kopiurv1.RepositoryStatus
	// Generation of the spec.
	Generation int64
	// Creds, Volume and Permitted are the gates in front of a mover.
	Creds     gates.Credentials
	Volume    gates.Verdict
	Permitted gates.Verdict
	// Refusal says why no Job can or may be made from this spec.
	Refusal validation.Refusal
	// SameInputs: the last attempt was made from the present generation and credentials.
	SameInputs bool
	// Flight is the attempt for the present inputs whose outcome is not recorded yet, nil where there is none.
	Flight *Flight
	// Lingering names a pod of an older attempt that has not ended yet.
	Lingering string
	// OthersSucceededAt is when another mover of this repository last succeeded, on this process's clock; zero where none
	// did.
	OthersSucceededAt time.Time
	// ReverifyAt is the value of the annotation that asks for another connect.
	ReverifyAt string
	// Listing says whether the repository is to be listed.
	Listing Listing
}

// Listing is what the catalog wants of the next attempt: a connect lists the snapshots as well where that is due.
type Listing struct {
	Due bool
	// In is when it will be; zero is never.
	In time.Duration
	// From is where it goes on.
	From work.Cursor
	// Token of the annotation that asks for it, "" where none does.
	Token string
}

// Flight is an attempt whose outcome is not in the status yet.
type Flight struct {
	Name    string
	Attempt int32
	Outcome moverjob.Outcome
}

// Verdict is how a plan sums up the repository.
type Verdict string

// Verdicts; they become the three conditions of kstatus.
const (
	// Keep leaves the conditions of kstatus as they are.
	Keep        Verdict = "Keep"
	Ready       Verdict = "Ready"
	Progressing Verdict = "Progressing"
	Stalled     Verdict = "Stalled"
)

// Condition is one kind-specific condition, without its times.
type Condition struct {
	Type            string
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Plan is what to do, and what to say.
type Plan struct {
	// Status is the new status, without conditions and observedGeneration.
	Status kopiurv1.RepositoryStatus
	// Conditions to set; BackendReachable is carried over where it is not among them.
	Conditions []Condition
	// Carry names conditions that stay as they are, also where Conditions has them.
	Carry   []string
	Verdict Verdict
	// Reason and Message of the verdict; with Keep, what happened meanwhile.
	Reason, Message string
	// Suspended adds that condition.
	Suspended bool
	// Start asks for the Job of attempt Status.Job.Attempts.
	Start bool
	// Probe: that Job only looks whether all is as it was. It gets one pod: the ladder tries again, not the Job.
	Probe bool
	// Tripped: failed probes have parked all who use the repository.
	Tripped bool
	// List: it lists the snapshots, too.
	List *work.Catalog
	// DeadlineSeconds of that Job.
	DeadlineSeconds int64
	// Note is what the mover said, for an event; it may be volatile.
	Note string
	// After is when to look again; zero leaves it to the watches.
	After time.Duration
}

// Deadlines and rests.
const (
	defaultDeadline int64 = 120
	maxDeadline     int64 = 1800
	// connectRoom is how much longer than the last connect the next one may take. A store that needs most of its deadline
	// would be over it now and then, without anything being wrong (acceptance C-4).
	connectRoom int64 = 3

	ladderFirst = 2 * time.Minute
	ladderMax   = 30 * time.Minute
	// failedRetry is the heartbeat of a failed repository: what was wrong may have been put right at the store, of which
	// nothing here tells.
	failedRetry = 30 * time.Minute
	// reverifyEvery bounds how often the annotation is honoured.
	reverifyEvery = time.Minute
	// futureSkew is how far ahead of us the clock of whoever wrote the annotation may be.
	futureSkew = 5 * time.Minute
	// lingerRecheck is how soon to look again for a pod that has not ended.
	lingerRecheck = 5 * time.Second
)

// Ladder is the rest after the n-th failure in a row: 2, 4, 8, 16 and then 30 minutes.
func Ladder(n int32) time.Duration {
	d := ladderFirst
	for range max(n, 1) - 1 {
		if d *= 2; d >= ladderMax {
			return ladderMax
		}
	}
	return d
}

// Deadline is what an attempt gets: what the spec says, or three times what the last connect took where that is more,
// and after kills deadline kills in a row twice as long for each, up to half an hour or what the spec allows.
func Deadline(p *kopiurv1.BootstrapSpec, connectSeconds int64, kills int32) int64 {
	base := defaultDeadline
	if p != nil && p.FailurePolicy != nil && p.FailurePolicy.ActiveDeadlineSeconds != nil {
		base = min(*p.FailurePolicy.ActiveDeadlineSeconds, work.MaxSeconds)
	}
	limit := max(maxDeadline, base)
	d := max(base, min(connectSeconds, limit)*connectRoom)
	for range kills {
		if d >= limit {
			break
		}
		d *= 2
	}
	return min(d, limit)
}

// deadline is what the next attempt gets.
func deadline(in Input, kills int32) int64 {
	var took int64
	if h := in.Status.Health; h != nil {
		took = h.ConnectSeconds
	}
	return Deadline(in.Spec.Bootstrap, took, kills)
}
