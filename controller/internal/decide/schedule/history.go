// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// defaultFailed is how many failed Snapshots are kept where the schedule does not say.
const defaultFailed = 10

// history counts runs that ended since the last look, and finds the records that are kept no longer. A Snapshot goes only
// after the status that counts it was stored.
func history(p *Plan, w World) {
	st := w.Schedule.Status
	p.Succeeded, p.Failed, p.Failures = st.LastSuccessfulSchedule, st.LastFailedSchedule, st.ConsecutiveFailures
	counted := later(slotOf(p.Succeeded), slotOf(p.Failed))
	for _, run := range runs(w.Children) {
		if !run.slot.After(counted) || !run.ended {
			continue
		}
		record := &kopiurv1.ScheduleSlot{At: Stamp(run.slot), Slot: Stamp(run.slot)}
		if slotOf(st.LastSchedule).Equal(run.slot) {
			record = st.LastSchedule.DeepCopy()
		}
		if run.failed {
			p.Failed = record
			p.Failures++
		} else {
			p.Succeeded, p.Failures = record, 0
		}
	}
	prune(p, w, counted)
}

type outcome struct {
	slot          time.Time
	ended, failed bool
}

// runs groups Snapshots by their slot, oldest first.
func runs(children []*kopiurv1.Snapshot) []outcome {
	bySlot := map[time.Time]*outcome{}
	for _, c := range children {
		slot := childSlot(c)
		if slot.IsZero() || c.DeletionTimestamp != nil {
			continue
		}
		if bySlot[slot] == nil {
			bySlot[slot] = &outcome{slot: slot, ended: true}
		}
		o := bySlot[slot]
		o.ended = o.ended && c.Status.Phase.Terminal()
		o.failed = o.failed || c.Status.Phase == kopiurv1.SnapshotFailed
	}
	var out []outcome
	for _, o := range bySlot {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b outcome) int { return a.slot.Compare(b.slot) })
	return out
}

// prune finds failed Snapshots beyond the limit, and those that stored nothing because nothing had changed beyond the
// same limit: nothing else would ever remove them.
func prune(p *Plan, w World, counted time.Time) {
	keep := defaultFailed
	if n := w.Schedule.Spec.FailedJobsHistoryLimit; n != nil {
		keep = max(int(*n), 0)
	}
	for _, phase := range []kopiurv1.SnapshotPhase{kopiurv1.SnapshotFailed, kopiurv1.SnapshotUnchanged} {
		var all []*kopiurv1.Snapshot
		for _, c := range w.Children {
			if c.Status.Phase == phase && c.DeletionTimestamp == nil && !pinned(c) {
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(a, b *kopiurv1.Snapshot) int {
			return cmp.Or(childSlot(b).Compare(childSlot(a)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		for i, c := range all {
			if i >= keep && !childSlot(c).After(counted) {
				p.Prune = append(p.Prune, c)
			}
		}
	}
	for _, c := range w.Children {
		if c.DeletionTimestamp == nil && ours[c.Annotations[kopiurv1.AnnotationPrunedBy]] && !slices.Contains(p.Prune, c) {
			p.Unstamp = append(p.Unstamp, c)
		}
	}
}

// ours are the deletions that a schedule makes.
var ours = map[string]bool{kopiurv1.PrunedByFailedHistory: true, kopiurv1.PrunedByReplacedRun: true}

func pinned(s *kopiurv1.Snapshot) bool {
	return s.Spec.Pin || s.Status.Pinned != nil && *s.Status.Pinned
}

// settles reports whether the next turn has something to prune that this one counts first.
func (p *Plan) settles(w World) bool {
	st := w.Schedule.Status
	before := later(slotOf(st.LastSuccessfulSchedule), slotOf(st.LastFailedSchedule))
	after := later(slotOf(p.Succeeded), slotOf(p.Failed))
	if !after.After(before) {
		return false
	}
	var q Plan
	prune(&q, w, after)
	return len(q.Prune) > len(p.Prune)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
