// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention says which snapshots of a policy are kept, and why each other one goes. It is pure, so that the
// command line shows in advance what the controller will do.
//
// Snapshots of one source in one repository are thinned out by themselves. Only complete ones count: what failed, what is
// still running and what was found and belongs to nobody neither goes nor keeps anything else from going. Periods are
// counted in UTC; of each, the newest snapshot stands for it. The newest of all and those that are pinned are never
// doomed, whatever the rules say.
package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Verdict is what becomes of one Snapshot.
type Verdict struct {
	Snapshot *kopiurv1.Snapshot
	// Bucket is the source and the repository it is thinned out with.
	Bucket string
	// End of the snapshot.
	End time.Time
	// Keep, and why: each rule that keeps it, or for each rule why it does not.
	Keep bool
	Why  []string
}

// Of decides about the Snapshots of a policy. Those that retention has no say in are left out. The buckets are in the
// order of their names, and in each the newest comes first. Without rules everything is kept.
func Of(p *kopiurv1.SnapshotPolicy, snapshots []kopiurv1.Snapshot) []Verdict {
	buckets := map[string][]Verdict{}
	for i := range snapshots {
		if v, ok := take(p, &snapshots[i]); ok {
			buckets[v.Bucket] = append(buckets[v.Bucket], v)
		}
	}
	var names []string
	for name := range buckets {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Verdict
	for _, name := range names {
		list := buckets[name]
		slices.SortFunc(list, newer)
		judge(list, p.Spec.Retention)
		out = append(out, list...)
	}
	return out
}

// take says whether retention has a say in a Snapshot.
func take(p *kopiurv1.SnapshotPolicy, s *kopiurv1.Snapshot) (Verdict, bool) {
	st := &s.Status
	switch {
	case s.Namespace != p.Namespace || s.Spec.PolicyRef == nil || s.Spec.PolicyRef.Name != p.Name:
		return Verdict{}, false
	case s.DeletionTimestamp != nil || st.Phase != kopiurv1.SnapshotSucceeded || st.Snapshot == nil || st.Timing == nil:
		return Verdict{}, false
	case st.Origin == kopiurv1.OriginReplicated || st.Origin == kopiurv1.OriginDiscovered:
		return Verdict{}, false // a copy is its replication's, a find is nobody's
	}
	end, err := time.Parse(time.RFC3339, st.Timing.EndTime)
	if err != nil {
		return Verdict{}, false // nobody knows how old it is
	}
	return Verdict{Snapshot: s, End: end.UTC(), Bucket: bucket(p, s)}, true
}

// bucket is what a Snapshot is thinned out with. One that does not say where it lies is in the only repository there was.
func bucket(p *kopiurv1.SnapshotPolicy, s *kopiurv1.Snapshot) string {
	var ref *kopiurv1.RepositoryRef
	switch r := s.Status.Resolved; {
	case r != nil && r.Repository != nil:
		ref = new(r.Repository.In(s.Namespace))
	case s.Spec.Repository != nil:
		ref = new(s.Spec.Repository.In(s.Namespace))
	default:
		ref = p.SoleRepository()
	}
	where := "an unknown repository"
	if ref != nil {
		where = ref.String()
	}
	return s.Status.Snapshot.Identity.String() + " in " + where
}

// newer puts the newest first. Of two that ended at once, the id decides, so that every look decides alike.
func newer(a, b Verdict) int {
	return cmp.Or(
		b.End.Compare(a.End),
		cmp.Compare(a.Snapshot.Status.Snapshot.KopiaSnapshotID, b.Snapshot.Status.Snapshot.KopiaSnapshotID),
		cmp.Compare(a.Snapshot.Name, b.Snapshot.Name),
	)
}

// rule keeps the newest snapshot of each of the newest periods.
type rule struct {
	name   string
	count  int
	period func(time.Time) string
}

func rules(r *kopiurv1.Retention) []rule {
	n := func(v *int32) int {
		if v == nil {
			return 0
		}
		return int(*v)
	}
	layout := func(l string) func(time.Time) string { return func(t time.Time) string { return t.Format(l) } }
	return []rule{
		{"hourly", n(r.KeepHourly), layout("2006-01-02 15h")},
		{"daily", n(r.KeepDaily), layout("2006-01-02")},
		{"weekly", n(r.KeepWeekly), func(t time.Time) string {
			year, week := t.ISOWeek()
			return fmt.Sprintf("%d week %02d", year, week)
		}},
		{"monthly", n(r.KeepMonthly), layout("2006-01")},
		{"annual", n(r.KeepAnnual), layout("2006")},
	}
}

// judge decides about one bucket, newest first.
func judge(list []Verdict, r *kopiurv1.Retention) {
	if r == nil {
		for i := range list {
			list[i].Keep, list[i].Why = true, []string{"the policy has no retention: everything is kept"}
		}
		return
	}
	if !keepsSomething(r) {
		for i := range list {
			list[i].Keep, list[i].Why = true, []string{"the policy's retention has no rule that keeps anything: nothing is deleted"}
		}
		return
	}
	against := make([][]string, len(list))
	keep := func(i int, format string, args ...any) {
		list[i].Keep = true
		list[i].Why = append(list[i].Why, fmt.Sprintf(format, args...))
	}
	latest := 0
	if r.KeepLatest != nil {
		latest = int(*r.KeepLatest)
	}
	for i := range list {
		if pinned(list[i].Snapshot) {
			keep(i, "pinned")
		}
		switch {
		case i < latest:
			keep(i, "latest %d of %d", i+1, latest)
		case i == 0:
			keep(i, "the newest is never deleted")
		case latest > 0:
			against[i] = append(against[i], fmt.Sprintf("latest: not among the newest %d", latest))
		}
	}
	for _, rule := range rules(r) {
		if rule.count <= 0 {
			continue
		}
		seen := map[string]string{}
		for i := range list {
			period, name := rule.period(list[i].End), list[i].Snapshot.Name
			first, known := seen[period]
			switch {
			case known:
				against[i] = append(against[i], fmt.Sprintf("%s: %s stands for %s", rule.name, first, period))
			case len(seen) < rule.count:
				seen[period] = name
				keep(i, "%s %d of %d (%s)", rule.name, len(seen), rule.count, period)
			default:
				against[i] = append(against[i], fmt.Sprintf("%s: not among the newest %d", rule.name, rule.count))
			}
		}
	}
	for i := range list {
		if !list[i].Keep {
			list[i].Why = against[i]
		}
	}
}

// keepsSomething reports whether there is any rule. None at all is a mistake, and not a wish to lose everything.
func keepsSomething(r *kopiurv1.Retention) bool {
	return r.KeepLatest != nil && *r.KeepLatest > 0 || slices.ContainsFunc(rules(r), func(r rule) bool { return r.count > 0 })
}

func pinned(s *kopiurv1.Snapshot) bool {
	return s.Spec.Pin || s.Status.Pinned != nil && *s.Status.Pinned
}

// Doomed are the Snapshots that go, oldest first: whatever ends the process in between, what is left is the newer part.
func Doomed(verdicts []Verdict) []*kopiurv1.Snapshot {
	var out []Verdict
	for _, v := range verdicts {
		if !v.Keep {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return -newer(a, b) })
	list := make([]*kopiurv1.Snapshot, len(out))
	for i, v := range out {
		list[i] = v.Snapshot
	}
	return list
}

// Text is the decision for people, one line for each Snapshot.
func Text(verdicts []Verdict) string {
	var b strings.Builder
	last := ""
	for _, v := range verdicts {
		if v.Bucket != last {
			fmt.Fprintf(&b, "%s\n", v.Bucket)
			last = v.Bucket
		}
		word := "goes"
		if v.Keep {
			word = "stays"
		}
		fmt.Fprintf(&b, "  %-5s  %s  %-20s  %s\n", word, v.End.Format("Mon 2006-01-02 15:04"), v.Snapshot.Name, strings.Join(v.Why, "; "))
	}
	return b.String()
}
