// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
)

func defaults(name, zone string, jitter kopiurv1.Duration) schedule.Default {
	return schedule.DefaultOf(kopiurv1.RepositoryRef{Name: name, Kind: kopiurv1.KindRepository, Namespace: "apps"}, &kopiurv1.ScheduleDefaults{Timezone: zone, Jitter: jitter})
}

func TestInherit(t *testing.T) {
	t.Parallel()
	none := schedule.DefaultOf(kopiurv1.RepositoryRef{Name: "plain"}, nil)
	for name, tc := range map[string]struct {
		own       kopiurv1.CronSpec
		defaults  []schedule.Default
		zone      string
		jitter    kopiurv1.Duration
		ambiguous string
	}{
		"nobody says anything":                    {kopiurv1.CronSpec{}, []schedule.Default{none}, "", "", ""},
		"the repository says both":                {kopiurv1.CronSpec{}, []schedule.Default{defaults("nas", "Europe/Berlin", "30m")}, "Europe/Berlin", "30m", ""},
		"the schedule's own word wins":            {kopiurv1.CronSpec{Timezone: "UTC", Jitter: "1m"}, []schedule.Default{defaults("nas", "Europe/Berlin", "30m")}, "UTC", "1m", ""},
		"each for itself":                         {kopiurv1.CronSpec{Jitter: "0"}, []schedule.Default{defaults("nas", "Europe/Berlin", "30m")}, "Europe/Berlin", "0", ""},
		"two that agree":                          {kopiurv1.CronSpec{}, []schedule.Default{defaults("nas", "Europe/Berlin", "30m"), defaults("off", "Europe/Berlin", "90m")}, "Europe/Berlin", "90m", ""},
		"one that says nothing has no say":        {kopiurv1.CronSpec{}, []schedule.Default{none, defaults("nas", "Europe/Berlin", "")}, "Europe/Berlin", "", ""},
		"two that differ leave UTC":               {kopiurv1.CronSpec{}, []schedule.Default{defaults("nas", "Europe/Berlin", "30m"), defaults("off", "Asia/Tokyo", "2h")}, "", "2h", "Asia/Tokyo (Repository apps/off), Europe/Berlin (Repository apps/nas)"},
		"and do not matter to who says it itself": {kopiurv1.CronSpec{Timezone: "Asia/Tokyo"}, []schedule.Default{defaults("nas", "Europe/Berlin", ""), defaults("off", "Asia/Tokyo", "")}, "Asia/Tokyo", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ambiguous := schedule.Inherit(tc.own, tc.defaults)
			assert.Equal(t, tc.zone, got.Timezone)
			assert.Equal(t, tc.jitter, got.Jitter)
			assert.Contains(t, ambiguous, tc.ambiguous)
			assert.Equal(t, tc.ambiguous == "", ambiguous == "")
		})
	}
}

// TestDefaultsThatChange count for the next run at once.
func TestDefaultsThatChange(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 2 * * *")
	m.w.Defaults = []schedule.Default{defaults("nas", "Asia/Tokyo", "")}
	m.look()
	assert.Equal(t, "2026-03-05T17:00:00Z", m.next())
	assert.Equal(t, "Asia/Tokyo", m.w.Schedule.Status.NextSchedule.Timezone)
	m.w.Defaults = append(m.w.Defaults, defaults("off", "Europe/Berlin", "30m"))
	p := m.look()
	assert.NotEmpty(t, p.Ambiguous)
	assert.Equal(t, "2026-03-06T02:00:00Z", m.w.Schedule.Status.NextSchedule.Slot)
	assert.Equal(t, kopiurv1.ScheduleSlot{At: m.next(), Slot: "2026-03-06T02:00:00Z", Timezone: "UTC", Jitter: "30m"}, *m.w.Schedule.Status.NextSchedule)
	m.w.Defaults = nil
	m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = "Nowhere" })
	assert.Equal(t, schedule.Stalled, m.look().State)
}

// TestJitterDelaysEachRun and never lets one overtake the next, or be lost to an edit.
func TestJitterDelaysEachRun(t *testing.T) {
	t.Parallel()
	for _, jitter := range []kopiurv1.Duration{"20m", "1h", "24h"} {
		m := newSim(t, "0 * * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Jitter = jitter })
		m.until("2026-03-07T12:30:00Z")
		require.GreaterOrEqual(t, len(m.made), 47, jitter)
		for i, slot := range m.made {
			delay := at(m.at[i]).Sub(at(slot))
			assert.GreaterOrEqual(t, delay, time.Duration(0))
			assert.Less(t, delay, time.Hour, "jitter %s", jitter)
			assert.Equal(t, at("2026-03-05T13:00:00Z").Add(time.Duration(i)*time.Hour), at(slot), "none is left out")
		}
		assert.Empty(t, m.events)
	}
	m := newSim(t, "0 13 * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Jitter = "1h" })
	m.look()
	fire := at(m.next())
	require.True(t, fire.After(at("2026-03-05T13:02:00Z")), "for this UID: %s", fire)
	m.clock = at("2026-03-05T13:01:00Z")
	m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.FailedJobsHistoryLimit = new(int32(3)) })
	m.look()
	assert.Equal(t, schedule.Stamp(fire), m.next(), "its time has come, and so it stays")
	m.until("2026-03-05T14:00:00Z")
	assert.Equal(t, []string{"2026-03-05T13:00:00Z"}, m.made)
}

// TestChangesOfTheClocks: in every zone, a year of a daily and of an hourly schedule makes each run once.
func TestChangesOfTheClocks(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "America/Santiago", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			m := newSim(t, "30 2 * * *", func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = zone })
			perDay := map[string]int{}
			for range 370 {
				m.until(schedule.Stamp(m.clock.Add(day)))
			}
			for _, slot := range m.made {
				local := at(slot).In(loc)
				perDay[local.Format(time.DateOnly)]++
				assert.Contains(t, []string{"02:30", "03:00"}, local.Format("15:04"), "half past two, or the first minute after a gap")
			}
			first := at(m.made[0]).In(loc)
			for i := range 365 {
				d := time.Date(first.Year(), first.Month(), first.Day()+i, 12, 0, 0, 0, loc).Format(time.DateOnly)
				assert.Equal(t, 1, perDay[d], "%s in %s", d, zone)
			}
			assert.Empty(t, m.events)
		})
	}
}

// TestTheNightsOfTheChange are spelt out.
func TestTheNightsOfTheChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		zone, cron, from, to string
		want                 []string
	}{
		"Berlin springs forward":             {"Europe/Berlin", "30 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T02:45:00Z", []string{"01:30", "03:00", "03:30", "04:30"}},
		"Berlin falls back":                  {"Europe/Berlin", "30 * * * *", "2026-10-24T23:00:00Z", "2026-10-25T02:45:00Z", []string{"01:30", "02:30", "03:30"}},
		"Lord Howe by half an hour, forward": {"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T15:00:00Z", "2026-10-03T17:00:00Z", []string{"02:30"}},
		"New York falls back":                {"America/New_York", "0 1 * * *", "2026-11-01T04:00:00Z", "2026-11-01T08:00:00Z", []string{"01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(tc.zone)
			require.NoError(t, err)
			m := newSim(t, tc.cron, func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = tc.zone })
			m.clock, m.w.Created = at(tc.from), at(tc.from)
			m.until(tc.to)
			var got []string
			for _, s := range m.made {
				got = append(got, at(s).In(loc).Format("15:04"))
			}
			assert.Equal(t, tc.want, got, fmt.Sprint(m.made))
		})
	}
}
