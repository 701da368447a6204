// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/kopia/kopia/repo/maintenance"
)

// ReclaimStage is how far data that nothing uses has come on its way out of the store.
type ReclaimStage int

// Stages, in their order.
const (
	// ReclaimNothing: nothing is on its way.
	ReclaimNothing ReclaimStage = iota
	// ReclaimYoung: it is younger than a day, and a backup that is under way may need it.
	ReclaimYoung
	// ReclaimMarked: it is marked as deleted; later cycles have to find the mark again before the index drops it.
	ReclaimMarked
	// ReclaimDropped: no index names its blobs any more; they stay until no reader can have an older one.
	ReclaimDropped
	// ReclaimShared: no index names it any more, but its blobs hold data in use as well. They are rewritten once there are
	// more of the kind, which the next backups see to.
	ReclaimShared
)

// Waiting is data that will go.
type Waiting struct {
	// Stage is that of most of it.
	Stage ReclaimStage
	// Bytes is all of it.
	Bytes int64
	// At is when what is in that stage can go at the earliest; zero where it cannot be told.
	At time.Time
}

// garbage is what a repository holds that nothing uses, after a full maintenance.
type garbage struct {
	youngBytes, markedBytes, droppedBytes, sharedBytes int64
	// youngMarks are marks that a collection counts as too young once more.
	youngMarks int64
	// youngSince is when such was found first.
	youngSince time.Time
	// oldestMark is when the first mark was made, oldestBlob the age of the first blob without a name.
	oldestMark, oldestBlob time.Time
}

func (g garbage) bytes() int64 { return g.youngBytes + g.markedBytes + g.droppedBytes + g.sharedBytes }

// most is the part in the stage with most bytes: the rest are leavings that every maintenance makes anew.
func (g garbage) most() garbage {
	switch max(g.youngBytes, g.markedBytes, g.droppedBytes, g.sharedBytes) {
	case g.droppedBytes:
		return garbage{droppedBytes: g.droppedBytes, oldestBlob: g.oldestBlob}
	case g.markedBytes:
		return garbage{markedBytes: g.markedBytes, oldestMark: g.oldestMark}
	case g.youngBytes:
		return garbage{youngBytes: g.youngBytes, youngSince: g.youngSince}
	default:
		return garbage{sharedBytes: g.sharedBytes}
	}
}

func (g garbage) stage() ReclaimStage {
	switch {
	case g.droppedBytes > 0:
		return ReclaimDropped
	case g.markedBytes > 0:
		return ReclaimMarked
	case g.youngBytes > 0:
		return ReclaimYoung
	case g.sharedBytes > 0:
		return ReclaimShared
	default:
		return ReclaimNothing
	}
}

// cycles is what kopia remembers of earlier maintenances, as far as it decides about later ones.
type cycles struct {
	// marks are the collections of garbage, newest first.
	marks []cycle
	// rewrite, fullRewrite and removal are the ends of the last ones.
	rewrite, fullRewrite, removal time.Time
}

type cycle struct{ start, end time.Time }

func cyclesOf(s *maintenance.Schedule) cycles {
	var c cycles
	for _, r := range s.Runs[maintenance.TaskSnapshotGarbageCollection] {
		if r.Success {
			c.marks = append(c.marks, cycle{r.Start, r.End})
		}
	}
	last := func(tasks ...maintenance.TaskType) time.Time {
		var t time.Time
		for _, task := range tasks {
			for _, r := range s.Runs[task] {
				if r.Success && r.End.After(t) {
					t = r.End
				}
			}
		}
		return t
	}
	c.fullRewrite = last(maintenance.TaskRewriteContentsFull)
	c.rewrite = last(maintenance.TaskRewriteContentsFull, maintenance.TaskRewriteContentsQuick)
	c.removal = last(maintenance.TaskDeleteOrphanedBlobsFull, maintenance.TaskDeleteOrphanedBlobsQuick)
	return c
}

// horizon is how many maintenances ahead are thought through; kopia needs five at most.
const horizon = 12

// forecast plays the next full maintenances through, one per interval, by kopia's own rules and margins, until one
// may remove the first blob. It answers with zero where that cannot be told. It is the earliest: what shares a blob with
// data in use has to be rewritten first, and a rewrite makes marks young again.
func forecast(g garbage, c cycles, last time.Time, interval time.Duration, safety maintenance.SafetyParameters) time.Time {
	if s := g.stage(); s == ReclaimNothing || s == ReclaimShared || interval <= 0 {
		return time.Time{}
	}
	old := g.youngSince.Add(safety.MinContentAgeSubjectToGC)
	for i := range horizon {
		t := last.Add(time.Duration(i+1) * interval)
		// 1. What nothing uses is marked.
		if g.youngBytes > 0 && !t.Before(old) {
			if g.markedBytes == 0 {
				g.oldestMark = t
			}
			g.markedBytes, g.youngBytes = g.markedBytes+g.youngBytes, 0
		}
		c.marks = append([]cycle{{t, t}}, c.marks...)
		// 2. Packs with little in them are rewritten, unless the leavings of the last time are still there.
		if c.fullRewrite.IsZero() || !c.removal.Before(c.fullRewrite) {
			c.rewrite, c.fullRewrite = t, t
		}
		// 3. Marks that a later cycle has confirmed are dropped from the index.
		if safe := c.safeDrop(safety); g.markedBytes > 0 && g.oldestMark.Before(safe) {
			if g.droppedBytes == 0 {
				g.oldestBlob = g.oldestMark.Add(-safety.MinContentAgeSubjectToGC)
			}
			g.droppedBytes, g.markedBytes = g.droppedBytes+g.markedBytes, 0
		}
		// 4. Blobs without a name are removed, unless a rewrite has just taken one away.
		if t.Before(c.rewrite.Add(safety.MinRewriteToOrphanDeletionDelay)) {
			continue
		}
		if g.droppedBytes > 0 && t.Sub(g.oldestBlob) >= safety.PackDeleteMinAge {
			return t
		}
		c.removal = t
	}
	return time.Time{}
}

// safeDrop is the moment before which a mark is old enough: two collections have to be some hours apart, and the mark
// older than the first of them.
func (c cycles) safeDrop(safety maintenance.SafetyParameters) time.Time {
	for _, r := range c.marks[1:] {
		if c.marks[0].start.Sub(r.end) > safety.MarginBetweenSnapshotGC {
			return r.start.Add(-safety.DropContentFromIndexExtraMargin)
		}
	}
	return time.Time{}
}
