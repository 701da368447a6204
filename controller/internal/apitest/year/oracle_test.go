// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package year_test

import (
	"fmt"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// keeps asks of one snapshot by itself whether a retention keeps it, by counting the newer ones. It shares nothing with what
// it judges.
func keeps(r *kopiurv1.Retention, all []run, i int) bool {
	number := func(n *int32) int {
		if n == nil {
			return 0
		}
		return int(*n)
	}
	week := func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "/", w) }
	layout := func(l string) func(time.Time) string { return func(t time.Time) string { return t.Format(l) } }
	newer := 0
	for _, other := range all {
		if other.end.After(all[i].end) {
			newer++
		}
	}
	if newer == 0 || newer < number(r.KeepLatest) {
		return true
	}
	for _, rule := range []struct {
		count  *int32
		period func(time.Time) string
	}{
		{r.KeepHourly, layout("2006010215")},
		{r.KeepDaily, layout("20060102")},
		{r.KeepWeekly, week},
		{r.KeepMonthly, layout("200601")},
		{r.KeepAnnual, layout("2006")},
	} {
		own, later, stands := rule.period(all[i].end), map[string]bool{}, true
		for _, other := range all {
			if other.end.After(all[i].end) {
				later[rule.period(other.end)] = true
				stands = stands && rule.period(other.end) != own
			}
		}
		if stands && len(later) < number(rule.count) {
			return true
		}
	}
	return false
}
