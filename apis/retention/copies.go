// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"slices"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// OfCopies decides about the copies of one replication by its own rules. Each source is thinned out by itself.
func OfCopies(r *kopiurv1.Retention, copies []*kopiurv1.Snapshot) []Verdict {
	buckets := map[string][]Verdict{}
	for _, s := range copies {
		st := &s.Status
		if s.DeletionTimestamp != nil || st.Phase != kopiurv1.SnapshotSucceeded || st.Snapshot == nil || st.Timing == nil {
			continue
		}
		end, err := time.Parse(time.RFC3339, st.Timing.EndTime)
		if err != nil {
			continue // nobody knows how old it is
		}
		name := st.Snapshot.Identity.String()
		buckets[name] = append(buckets[name], Verdict{Snapshot: s, End: end.UTC(), Bucket: name})
	}
	var names []string
	for name := range buckets {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Verdict
	for _, name := range names {
		list := buckets[name]
		slices.SortFunc(list, newerCopy)
		judge(list, r)
		out = append(out, list...)
	}
	return out
}

// newerCopy goes by the exact start where two ended in one second, as the mover does.
func newerCopy(a, b Verdict) int {
	return cmp.Or(b.End.Compare(a.End), startOf(b).Compare(startOf(a)), newer(a, b))
}

func startOf(v Verdict) time.Time {
	if c := v.Snapshot.Status.CopiedFrom; c != nil {
		if t, err := time.Parse(time.RFC3339Nano, c.StartTime); err == nil {
			return t
		}
	}
	return time.Time{}
}

// Keep is the same rules as a mover is told them.
func Keep(r *kopiurv1.Retention) *work.Keep {
	if r == nil || !keepsSomething(r) {
		return nil
	}
	n := func(v *int32) int {
		if v == nil {
			return 0
		}
		return int(*v)
	}
	return &work.Keep{
		Latest: n(r.KeepLatest), Hourly: n(r.KeepHourly), Daily: n(r.KeepDaily),
		Weekly: n(r.KeepWeekly), Monthly: n(r.KeepMonthly), Annual: n(r.KeepAnnual),
	}
}
