// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"fmt"
	"slices"
	"time"
)

// Keep thins out the snapshots of one identity: the newest ones, and the newest one of each of the newest hours, days, ISO
// weeks, months and years in UTC. Rules that keep nothing at all are no rules.
type Keep struct {
	Latest  int `json:"latest,omitempty"`
	Hourly  int `json:"hourly,omitempty"`
	Daily   int `json:"daily,omitempty"`
	Weekly  int `json:"weekly,omitempty"`
	Monthly int `json:"monthly,omitempty"`
	Annual  int `json:"annual,omitempty"`
}

// Of says of each snapshot, by when it ended, whether it is kept. The newest always is. Of those that ended in one second,
// which is as exact as a status is, the one that comes first counts as the newer.
func (k Keep) Of(ends []time.Time) []bool {
	out := make([]bool, len(ends))
	order := make([]int, len(ends))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return ends[b].Truncate(time.Second).Compare(ends[a].Truncate(time.Second)) })
	if k == (Keep{}) {
		for i := range out {
			out[i] = true
		}
		return out
	}
	for n, i := range order {
		out[i] = n == 0 || n < k.Latest
	}
	for _, rule := range []struct {
		count  int
		period func(time.Time) string
	}{
		{k.Hourly, func(t time.Time) string { return t.Format("2006010215") }},
		{k.Daily, func(t time.Time) string { return t.Format("20060102") }},
		{k.Weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "/", w) }},
		{k.Monthly, func(t time.Time) string { return t.Format("200601") }},
		{k.Annual, func(t time.Time) string { return t.Format("2006") }},
	} {
		seen := map[string]bool{}
		for _, i := range order {
			period := rule.period(ends[i].UTC())
			if seen[period] || len(seen) >= rule.count {
				continue
			}
			seen[period], out[i] = true, true
		}
	}
	return out
}
