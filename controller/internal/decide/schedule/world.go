// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// World is one schedule and what it depends on.
type World struct {
	Schedule *kopiurv1.SnapshotSchedule
	// Created is when it was created, by the clock that decisions go by.
	Created time.Time
	// Policies that it names or selects and that are there, and the claims of its namespace where one of them selects some.
	Policies []*kopiurv1.SnapshotPolicy
	Claims   []corev1.PersistentVolumeClaim
	// Defaults of their repositories.
	Defaults []Default
	// Children are the Snapshots that it owns.
	Children []*kopiurv1.Snapshot
}

// State is what the summary of the schedule says.
type State int

// States.
const (
	// Ready: runs are made.
	Ready State = iota
	// Waiting: for a policy.
	Waiting
	// Stalled: nothing is made until somebody acts.
	Stalled
	// Suspended: by its own spec.
	Suspended
)

// Skip is a run of one policy that was left out.
type Skip struct{ Policy, Why string }

// Plan is the answer.
type Plan struct {
	State           State
	Reason, Message string
	// Ambiguous says which time zones it cannot choose among; empty where it can.
	Ambiguous string
	// Capped says how many Snapshots a run would make; empty where that is allowed.
	Capped string
	// PolicySuspended names its only policy where that is suspended.
	PolicySuspended string
	// After is when to look again; zero where only a watch can tell.
	After time.Duration

	// Slot is the slot of the run that is made now, the zero time where none is.
	Slot time.Time
	// Replace are Snapshots to delete before anything is created, Create those to make.
	Replace, Create []*kopiurv1.Snapshot
	// Skips were left out of this run, Expired says that all of it was.
	Skips   []Skip
	Expired string
	// Missed says that runs were missed, when that is found out.
	Missed string

	// Prune are failed Snapshots beyond those that are kept, and Unchanged ones likewise.
	Prune []*kopiurv1.Snapshot
	// Unstamp are Snapshots that were about to be deleted and are not any more.
	Unstamp []*kopiurv1.Snapshot
	// Propagate are Snapshots that have another onScheduleDelete than OnScheduleDelete.
	Propagate        []*kopiurv1.Snapshot
	OnScheduleDelete kopiurv1.CascadePolicy

	// Last, Next, Succeeded, Failed and Failures go into the status. Last has no snapshotRef yet.
	Last, Next, Succeeded, Failed *kopiurv1.ScheduleSlot
	Failures                      int32
}

// Stamp writes a time as the status does.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func parse(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// slotOf is the slot of a stored run. Another version may have written only when it was made.
func slotOf(s *kopiurv1.ScheduleSlot) time.Time {
	if s == nil {
		return time.Time{}
	}
	if t := parse(s.Slot); !t.IsZero() {
		return t
	}
	return parse(s.At)
}

// childSlot is the slot that a Snapshot was made for.
func childSlot(s *kopiurv1.Snapshot) time.Time {
	return parse(s.Annotations[kopiurv1.AnnotationScheduleSlot])
}
