// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package due_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02 15:04", s)
	require.NoError(t, err)
	return v
}

func rule(t *testing.T, spec kopiurv1.CronSpec, defaults *kopiurv1.ScheduleDefaults) due.Rule {
	t.Helper()
	r, err := due.Parse(spec, "", defaults, "apps/web", "uid")
	require.NoError(t, err)
	return r
}

// J-12, I-10: TestKeep says what becomes of a pin.
func TestKeep(t *testing.T) {
	t.Parallel()
	nightly := kopiurv1.CronSpec{Cron: "0 3 * * *"}
	for name, tc := range map[string]struct {
		pin, rule, now, want string
	}{
		"a new schedule begins with its next time, not at once": {"", "", "2026-03-05 09:00", "2026-03-06 03:00"},
		"a turn that is to come stays":                          {"2026-03-06 03:00", "", "2026-03-05 09:00", "2026-03-06 03:00"},
		"a turn that was missed for a week stays, as one":       {"2026-03-01 03:00", "", "2026-03-08 09:00", "2026-03-01 03:00"},
		"another rule begins anew":                              {"2026-03-06 12:00", "0 12 * * * UTC", "2026-03-05 09:00", "2026-03-06 03:00"},
		"a clock set back over the last turn does not double it": {
			"2026-03-07 03:00", "", "2026-03-06 02:30", "2026-03-07 03:00",
		},
		"a clock set back by a month does not skip one": {"2026-04-05 03:00", "", "2026-03-05 09:00", "2026-03-06 03:00"},
		"a retry before the next turn stays":            {"2026-03-05 10:00", "", "2026-03-05 09:30", "2026-03-05 10:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rule(t, nightly, nil)
			var p due.Pin
			if tc.pin != "" {
				p = due.Pin{At: at(t, tc.pin), Rule: r.Text()}
			}
			if tc.rule != "" {
				p.Rule = tc.rule
			}
			got := r.Keep(p, at(t, tc.now))
			assert.Equal(t, at(t, tc.want), got.At)
			assert.Equal(t, "0 3 * * * UTC", got.Rule)
			assert.Equal(t, got, due.Read(got.String(), got.Rule), "a status keeps it")
			assert.Equal(t, got, r.Keep(got, at(t, tc.now)), "and the next look does not move it")
		})
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	r := rule(t, kopiurv1.CronSpec{Cron: "0 * * * *"}, nil)
	assert.Equal(t, at(t, "2026-03-05 09:40"), r.Retry(at(t, "2026-03-05 09:10"), 30*time.Minute).At)
	assert.Equal(t, at(t, "2026-03-05 10:00"), r.Retry(at(t, "2026-03-05 09:40"), 30*time.Minute).At, "the next turn comes first")
	assert.Equal(t, time.Hour, r.Interval(at(t, "2026-03-05 09:40")))
}

func TestParse(t *testing.T) {
	t.Parallel()
	defaults := &kopiurv1.ScheduleDefaults{Timezone: "Europe/Berlin", Jitter: "30m"}
	for name, tc := range map[string]struct {
		spec kopiurv1.CronSpec
		zone string
		want string
	}{
		"what is left out is the repository's": {kopiurv1.CronSpec{Cron: "0 3 * * *"}, "", "0 3 * * * Europe/Berlin +30m0s"},
		"what is written wins":                 {kopiurv1.CronSpec{Cron: "0 3 * * *", Timezone: "UTC", Jitter: "0s"}, "", "0 3 * * * UTC"},
		"the zone of both schedules is between": {
			kopiurv1.CronSpec{Cron: "0 3 * * *"}, "Asia/Tokyo", "0 3 * * * Asia/Tokyo +30m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := due.Parse(tc.spec, tc.zone, defaults, "apps/web", "uid")
			require.NoError(t, err)
			assert.Equal(t, tc.want, r.Text())
		})
	}
	for _, bad := range []kopiurv1.CronSpec{{Cron: "@daily"}, {Cron: "0 3 * * *", Timezone: "CEST"}, {Cron: "0 3 * * *", Jitter: "48h"}} {
		_, err := due.Parse(bad, "", nil, "apps/web", "uid")
		require.Error(t, err)
	}
	r := rule(t, kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "1h"}, nil)
	next := r.Next(at(t, "2026-03-05 09:00")).At
	assert.True(t, next.After(at(t, "2026-03-06 02:59")) && next.Before(at(t, "2026-03-06 04:00")))
	assert.Equal(t, next, r.Next(at(t, "2026-03-05 10:00")).At, "the delay of a turn is always the same")
	assert.Empty(t, due.Pin{}.String())
	assert.Zero(t, due.Read("tomorrow", ""))
}
