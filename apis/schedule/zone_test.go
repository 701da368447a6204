// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine that has none

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	z, err := schedule.Zone(name)
	require.NoError(tb, err)
	return z
}

func TestChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		zone, expr, after string
		want              []string
	}{
		"UTC never changes": {
			"", "30 2 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T02:30:00Z", "2026-03-30T02:30:00Z"},
		},
		"Berlin, an ordinary day": {
			"Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T02:30:00+01:00"},
		},
		"Berlin, a skipped time fires at the first minute after the gap": {
			"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		"Berlin, many skipped times are one run": {
			"Europe/Berlin", "*/20 * * * *", "2026-03-29T01:30:00+01:00",
			[]string{"2026-03-29T01:40:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00"},
		},
		"Berlin, a skipped time that meets another run is one run": {
			"Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		"Berlin, a repeated time fires the first time": {
			"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		"Berlin, a repeated hour does not fire again": {
			"Europe/Berlin", "*/30 * * * *", "2026-10-25T02:10:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00"},
		},
		"Berlin, asked within the repeated hour": {
			"Europe/Berlin", "*/30 * * * *", "2026-10-25T02:10:00+01:00",
			[]string{"2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00"},
		},
		"New York, skipped": {
			"America/New_York", "15 2 * * *", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:15:00-04:00"},
		},
		"New York, repeated": {
			"America/New_York", "15 1 * * *", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"},
		},
		"Lord Howe, half an hour is skipped": {
			"Australia/Lord_Howe", "10 2 * * *", "2026-10-03T12:00:00Z",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:10:00+11:00"},
		},
		"Lord Howe, what lies after the half hour is not skipped": {
			"Australia/Lord_Howe", "40 2 * * *", "2026-10-03T12:00:00Z",
			[]string{"2026-10-04T02:40:00+11:00"},
		},
		"Lord Howe, half an hour is repeated": {
			"Australia/Lord_Howe", "*/15 1 * * *", "2026-04-05T01:20:00+11:00",
			[]string{"2026-04-05T01:30:00+11:00", "2026-04-05T01:45:00+11:00", "2026-04-06T01:00:00+10:30"},
		},
		"Apia, a day that was skipped fires at the begin of the next": {
			"Pacific/Apia", "0 12 * * *", "2011-12-29T18:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"},
		},
		"Apia, a date that was skipped": {
			"Pacific/Apia", "0 3 30 12 *", "2011-12-01T00:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T03:00:00+14:00"},
		},
		"Kwajalein, a date that was skipped earlier": {
			"Pacific/Kwajalein", "0 3 * * *", "1993-08-20T12:00:00-12:00",
			[]string{"1993-08-22T00:00:00+12:00", "1993-08-22T03:00:00+12:00"},
		},
		"Cairo, midnight is skipped": {
			"Africa/Cairo", "0 0 * * *", "2026-04-23T12:00:00Z",
			[]string{"2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"},
		},
		"Havana, midnight is repeated": {
			"America/Havana", "30 0 * * *", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T00:30:00-04:00", "2026-11-02T00:30:00-05:00"},
		},
		"Kathmandu, an offset of quarters": {
			"Asia/Kathmandu", "0 0 * * *", "2026-01-01T00:00:00Z",
			[]string{"2026-01-02T00:00:00+05:45"},
		},
		"Monrovia, a gap that ends within a minute": {
			// Clocks went from 00:00:00 to 00:44:30.
			"Africa/Monrovia", "10 0 7 1 *", "1972-01-06T12:00:00Z",
			[]string{"1972-01-07T00:45:00Z"},
		},
		"29 February": {
			"Europe/Berlin", "0 3 29 2 *", "2096-03-01T00:00:00Z",
			[]string{"2104-02-29T03:00:00+01:00"},
		},
		"New York, the last day of a leap year beyond the table of changes": {
			"America/New_York", "0 3 * * *", "2040-12-30T12:00:00Z",
			[]string{"2040-12-31T03:00:00-05:00", "2041-01-01T03:00:00-05:00"},
		},
		"seconds do not count": {
			"", "* * * * *", "2026-01-01T00:00:59.999Z",
			[]string{"2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := schedule.Parse(tc.expr, "a/b")
			require.NoError(t, err)
			z := zone(t, tc.zone)
			at := moment(t, tc.after)
			for _, want := range tc.want {
				at = c.Next(at, z)
				assert.Equal(t, want, at.Format(time.RFC3339))
				for _, later := range []time.Duration{0, 59 * time.Second} {
					assert.Equal(t, want, c.Latest(at.Add(later), z).Format(time.RFC3339), "the latest run of its own minute")
				}
			}
		})
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ zone, expr, notAfter, want string }{
		"a run at the very moment":                  {"", "0 3 * * *", "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z"},
		"a moment before it":                        {"", "0 3 * * *", "2026-01-02T02:59:59Z", "2026-01-01T03:00:00Z"},
		"a leap day long ago":                       {"", "0 3 29 2 *", "2104-02-28T00:00:00Z", "2096-02-29T03:00:00Z"},
		"within the repeated hour, a time repeated": {"Europe/Berlin", "30 2 * * *", "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+02:00"},
		"a gap that has just ended":                 {"Europe/Berlin", "30 2 * * *", "2026-03-29T03:00:00+02:00", "2026-03-29T03:00:00+02:00"},
		"a gap that has not ended":                  {"Europe/Berlin", "30 2 * * *", "2026-03-29T01:59:59+01:00", "2026-03-28T02:30:00+01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := schedule.Parse(tc.expr, "a/b")
			require.NoError(t, err)
			got := c.Latest(moment(t, tc.notAfter), zone(t, tc.zone))
			assert.Equal(t, tc.want, got.Format(time.RFC3339))
		})
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "CET"} {
		_, err := schedule.Zone(name)
		require.NoError(t, err, name)
	}
	for _, name := range []string{"Local", "Europe", "Europe/Atlantis", "+02:00", "UTC+2", "../../etc/passwd", "/etc/passwd", " UTC", "Europe/Berlin\n"} {
		_, err := schedule.Zone(name)
		require.ErrorContains(t, err, "write an IANA name, such as Europe/Berlin", name)
		require.ErrorContains(t, err, fmt.Sprintf("%q", name))
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for text, want := range map[kopiurv1.Duration]time.Duration{"": 0, "30m": 30 * time.Minute, "90": 90 * time.Second, "24h": 24 * time.Hour} {
		got, err := schedule.Jitter(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for text, want := range map[kopiurv1.Duration]string{
		"1d": "write it like 90s", "25h": "write at most 24h", "86401": "write at most 24h", "-5m": "write it like 90s", "soon": "write it like 90s",
	} {
		_, err := schedule.Jitter(text)
		require.ErrorContains(t, err, want)
	}
}

// Delays are frozen: a controller that starts anew, or another version of it, must not run a slot twice.
func TestDelayIsFrozen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, uid := range []string{"6f1c0a3e-0000-4000-8000-000000000001", "6f1c0a3e-0000-4000-8000-000000000002", ""} {
		for _, slot := range []string{"2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z", "2026-01-01T04:00:00+01:00", "1969-12-31T23:59:00Z"} {
			fmt.Fprintf(&out, "%-38q %-26s", uid, slot)
			for _, jitter := range []time.Duration{0, time.Second, 30 * time.Minute, 24 * time.Hour} {
				fmt.Fprintf(&out, " %s:%s", jitter, schedule.Delay(uid, moment(t, slot), jitter))
			}
			out.WriteString("\n")
		}
	}
	golden(t, "delay.golden", out.String())
}

func TestDelayStaysBelowTheJitter(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for i := range 2000 {
		d := schedule.Delay("uid", time.Unix(int64(i)*3600, 0), time.Minute)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.Less(t, d, time.Minute)
		seen[d] = true
	}
	assert.Len(t, seen, 60, "every second is used")
	assert.Zero(t, schedule.Delay("uid", time.Unix(0, 0), -time.Hour))
	assert.Zero(t, schedule.Delay("uid", time.Unix(0, 0), time.Millisecond))
}

func moment(tb testing.TB, s string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, s)
	require.NoError(tb, err)
	return at
}
