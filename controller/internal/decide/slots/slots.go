// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots decides which of the runs that want to start may. Three limits hold at a time: the repository's, the
// policy's and that of the whole cluster. Whoever has waited longest for a repository starts first; one that waits for
// its own policy stands in nobody's way.
//
// Restores are never asked: they start at once and count. Jobs that a queueing controller suspends do not count.
package slots

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State of a run.
type State int

// States.
const (
	// Active runs, or is about to.
	Active State = iota
	// Queued waits for the repository or the cluster.
	Queued
	// Parked waits for its policy.
	Parked
)

// Run is one that is active or waits.
type Run struct {
	UID     types.UID
	Created time.Time
	// Repository and Policy are compared by equality.
	Repository, Policy string
	State              State
}

// Limits of active runs; 0 is none.
type Limits struct{ Repository, Policy, Cluster int }

// Any reports whether there is a limit at all.
func (l Limits) Any() bool { return l.Repository > 0 || l.Policy > 0 || l.Cluster > 0 }

// Verdict lets a run start, or says what it waits for.
type Verdict struct {
	Admitted bool
	// State is Queued or Parked where it waits.
	State State
	// Message is stable while the place in the queue stays in its bucket: a run that ends must not rewrite every one that
	// waits (acceptance E-9).
	Message string
}

// Decide says whether me may start beside the other runs. It is total.
func Decide(me Run, others []Run, l Limits, repository, policy string) Verdict {
	var all, here, ours, ahead, aheadOurs int
	for _, o := range others {
		switch {
		case o.UID == me.UID:
		case o.State == Active:
			all++
			if o.Repository == me.Repository {
				here++
			}
			if o.Policy == me.Policy {
				ours++
			}
		case Before(o, me):
			if o.State == Queued && o.Repository == me.Repository {
				ahead++
			}
			if o.Policy == me.Policy {
				aheadOurs++
			}
		}
	}
	switch {
	case l.Policy > 0 && ours+aheadOurs >= l.Policy:
		return Verdict{State: Parked, Message: fmt.Sprintf("%s allows %d at a time (upload.maxParallelSnapshots); %s", policy, l.Policy, place(max(0, aheadOurs)))}
	case l.Repository > 0 && here+ahead >= l.Repository:
		return Verdict{State: Queued, Message: fmt.Sprintf("%s allows %d at a time (concurrency.maxConcurrentJobs); %s", repository, l.Repository, place(ahead))}
	case l.Cluster > 0 && all >= l.Cluster:
		return Verdict{State: Queued, Message: fmt.Sprintf("the controller allows %d at a time in the whole cluster (maxConcurrentJobs); %s", l.Cluster, place(ahead))}
	default:
		return Verdict{Admitted: true}
	}
}

// place in the queue, in buckets.
func place(ahead int) string {
	switch {
	case ahead == 0:
		return "this one is next"
	case ahead < 10:
		return "fewer than 10 are before this one"
	case ahead < 100:
		return "fewer than 100 are before this one"
	default:
		return "100 or more are before this one"
	}
}

// Before orders those that wait: by age, then by UID.
func Before(a, b Run) bool { return compare(a, b) < 0 }

func compare(a, b Run) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

// awake are the places in a queue that are looked at again when a run ends: those that may start, and those that change
// their bucket.
var awake = []int{0, 1, 2, 9, 99}

// Wake names those that wait and have something to do now that a run has ended.
func Wake(runs []Run) []types.UID {
	queues := map[string][]Run{}
	for _, r := range runs {
		switch r.State {
		case Active:
		case Queued:
			queues["r/"+r.Repository] = append(queues["r/"+r.Repository], r)
		case Parked:
			queues["p/"+r.Policy] = append(queues["p/"+r.Policy], r)
		}
	}
	var out []types.UID
	for _, q := range queues {
		slices.SortFunc(q, compare)
		for _, i := range awake {
			if i < len(q) {
				out = append(out, q[i].UID)
			}
		}
	}
	slices.Sort(out)
	return out
}
