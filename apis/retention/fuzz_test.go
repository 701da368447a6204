// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// oracle asks of each snapshot by itself, by counting: it knows no order and keeps no state.
func oracle(r *kopiurv1.Retention, all []kopiurv1.Snapshot, i int) bool {
	end := func(s kopiurv1.Snapshot) time.Time {
		t, _ := time.Parse(time.RFC3339, s.Status.Timing.EndTime)
		return t.UTC()
	}
	before := func(a, b kopiurv1.Snapshot) bool {
		if !end(a).Equal(end(b)) {
			return end(a).After(end(b))
		}
		return a.Status.Snapshot.KopiaSnapshotID < b.Status.Snapshot.KopiaSnapshotID
	}
	own := all[i]
	if own.Spec.Pin || *r.KeepLatest+*r.KeepHourly+*r.KeepDaily+*r.KeepWeekly+*r.KeepMonthly+*r.KeepAnnual == 0 {
		return true
	}
	newer := 0
	periods := map[string]map[string]bool{}
	blocked := map[string]bool{}
	of := map[string]func(time.Time) string{
		"h": func(t time.Time) string { return t.Format("2006010215") },
		"d": func(t time.Time) string { return t.Format("20060102") },
		"w": func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "-", w) },
		"m": func(t time.Time) string { return t.Format("200601") },
		"y": func(t time.Time) string { return t.Format("2006") },
	}
	for _, s := range all {
		if !before(s, own) || s.Status.Snapshot.Identity != own.Status.Snapshot.Identity {
			continue
		}
		newer++
		for k, f := range of {
			if f(end(s)) == f(end(own)) {
				blocked[k] = true
			}
			if periods[k] == nil {
				periods[k] = map[string]bool{}
			}
			periods[k][f(end(s))] = true
		}
	}
	if newer == 0 || newer < int(*r.KeepLatest) {
		return true
	}
	for k, n := range map[string]*int32{"h": r.KeepHourly, "d": r.KeepDaily, "w": r.KeepWeekly, "m": r.KeepMonthly, "y": r.KeepAnnual} {
		if !blocked[k] && len(periods[k]) < int(*n) {
			return true
		}
	}
	return false
}

// FuzzRetention holds every decision against the oracle, and three promises against every decision: the newest stays, what
// is pinned stays, and deciding again about what stays dooms nothing more.
func FuzzRetention(f *testing.F) {
	f.Add(uint8(3), uint8(0), uint8(7), uint8(4), uint8(3), uint8(1), []byte{1, 2, 3, 250, 4, 5, 6, 7, 130, 9})
	f.Add(uint8(0), uint8(24), uint8(2), uint8(0), uint8(0), uint8(0), []byte("a whole day of snapshots, and a bit of the next one"))
	f.Add(uint8(1), uint8(0), uint8(0), uint8(0), uint8(0), uint8(0), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, latest, hourly, daily, weekly, monthly, annual uint8, steps []byte) {
		r := keep(int32(latest%9), int32(hourly%30), int32(daily%12), int32(weekly%9), int32(monthly%9), int32(annual%4))
		at := time.Date(2024, 12, 28, 23, 30, 0, 0, time.UTC)
		var all []kopiurv1.Snapshot
		for i, b := range steps[:min(len(steps), 120)] {
			// Minutes, hours, days or weeks to the next one; none at all now and then.
			at = at.Add(time.Duration(b%13) * []time.Duration{time.Minute, 17 * time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}[int(b)%5])
			s := stored(fmt.Sprintf("s%03d", i), at)
			s.Spec.Pin = b%31 == 0
			if b%7 == 0 {
				s.Status.Snapshot.Identity.SourcePath = "/pvc/other"
			}
			all = append(all, s)
		}
		p := policy(r)
		verdicts := retention.Of(p, all)
		assert.Len(t, verdicts, len(all))
		index := map[string]int{}
		for i := range all {
			index[all[i].Name] = i
		}
		newest := map[string]bool{}
		var left []kopiurv1.Snapshot
		for _, v := range verdicts {
			i := index[v.Snapshot.Name]
			assert.Equal(t, oracle(r, all, i), v.Keep, "%s of %d: %v", v.Snapshot.Name, len(all), v.Why)
			assert.NotEmpty(t, v.Why, "%s has a reason", v.Snapshot.Name)
			if !newest[v.Bucket] {
				newest[v.Bucket] = true
				assert.True(t, v.Keep, "the newest")
			}
			if v.Snapshot.Spec.Pin {
				assert.True(t, v.Keep, "a pinned one")
			}
			if v.Keep {
				left = append(left, *v.Snapshot)
			}
		}
		assert.Empty(t, retention.Doomed(retention.Of(p, left)), "a second look dooms nothing more")
	})
}
