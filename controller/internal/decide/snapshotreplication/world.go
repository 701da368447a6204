// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// World is all that a decision looks at.
type World struct {
	// Replication as it was read. It is not changed.
	Replication *kopiurv1.SnapshotReplication
	// CacheClaim is the claim of a cache that is kept from run to run, "" where it goes with the pod.
	CacheClaim string
	// Source and Destination; nil where they do not exist.
	Source, Destination *moverjob.Repository
	// CredentialVersion of both sides, "" while something is missing.
	CredentialVersion string
	// Gates are what a mover needs where it would run. The first that is closed is told.
	Gates []Gate
	// Job of the present part, and what it amounts to.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	// Tail is the end of the mover's log, zero where it was not read.
	Tail moverjob.Tail
	// Records is what became of what the movers of this run told, once the present one has ended.
	Records Records

	Image      moverjob.Images
	PullPolicy corev1.PullPolicy
}

// Gate is one that a start has to pass, and the condition that tells of it; "" is none of its own.
type Gate struct {
	Condition string
	gates.Verdict
}

// Records is what became of what the movers of a run told.
type Records struct {
	// Rows is true once every record has its Snapshot, or is known to need none.
	Rows bool
	// Whole: every page of every part was read by this process.
	Whole bool
	// Doomed is how many copies are still to be deleted, Pruned how many were. Held says why none is, "" where pruning may be.
	Doomed, Pruned int64
	Held           string
	// Overlap names one that stores snapshots of a selected identity in the destination itself; "" where nobody does.
	Overlap string
}

// Action is what the reconciler does besides writing the status.
type Action string

// Actions.
const (
	Rest Action = "Rest"
	// Start makes Job, after the status that names the run was written.
	Start Action = "Start"
	// Rows makes Snapshots of what was told.
	Rows Action = "Rows"
	// Prune deletes copies.
	Prune Action = "Prune"
)

// State is what kstatus makes of it.
type State int

// States.
const (
	Progressing State = iota
	Ready
	Stalled
)

// Condition is one finding.
type Condition struct {
	Type            string
	True            bool
	Reason, Message string
}

// Note is an event to publish.
type Note struct {
	Warning         bool
	Reason, Message string
}

// Plan is what is to be done, and what to say.
type Plan struct {
	Status     kopiurv1.SnapshotReplicationStatus
	Action     Action
	Job        *batchv1.Job
	State      State
	Reason     string
	Message    string
	Conditions []Condition
	// Carry names conditions that stay as they were stored.
	Carry []string
	Notes []Note
	// Suspended adds that condition.
	Suspended bool
	// Ended is the outcome of a run that is over now, "" while none is: a word of the metric.
	Ended   string
	Trigger kopiurv1.ReplicationTrigger
	// After is when to look again; zero is when something changes.
	After time.Duration
}

// Outcomes of a run.
const (
	EndedOK     = "succeeded"
	EndedFailed = "failed"
)
