// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/schedule"
)

// oracle answers minute by minute, with nothing in common with the code it judges: it reads a resolved expression by
// itself and watches a clock on the wall.
type oracle struct {
	sets   [5]map[int]bool
	either bool
}

func newOracle(resolved string) oracle {
	var o oracle
	names := [5]string{3: " jan feb mar apr may jun jul aug sep oct nov dec", 4: "sun mon tue wed thu fri sat"}
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	star := [5]bool{}
	for i, field := range strings.Fields(strings.ToLower(resolved)) {
		o.sets[i] = map[int]bool{}
		number := func(s string) int {
			if n, err := strconv.Atoi(s); err == nil {
				return n
			}
			if i == 3 {
				return (strings.Index(names[i], s) + 3) / 4
			}
			return strings.Index(names[i], s) / 4
		}
		for part := range strings.SplitSeq(field, ",") {
			span, stepText, stepped := strings.Cut(part, "/")
			step := 1
			if stepped {
				step, _ = strconv.Atoi(stepText)
			}
			from, to := limits[i][0], limits[i][1]
			if span == "*" {
				star[i] = star[i] || step == 1
			} else {
				a, b, ranged := strings.Cut(span, "-")
				from = number(a)
				switch {
				case ranged:
					to = number(b)
				case !stepped:
					to = from
				}
			}
			for n := from; n <= to; n += step {
				o.sets[i][n] = true
			}
		}
	}
	o.either = !star[2] && !star[4]
	return o
}

func (o oracle) matches(wall time.Time) bool {
	if !o.sets[0][wall.Minute()] || !o.sets[1][wall.Hour()] || !o.sets[3][int(wall.Month())] {
		return false
	}
	dom, dow := o.sets[2][wall.Day()], o.sets[4][int(wall.Weekday())]
	if o.either {
		return dom || dow
	}
	return dom && dow
}

func shown(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// runs lists the runs in (from, to].
func (o oracle) runs(from, to time.Time, z *time.Location) []time.Time {
	var out []time.Time
	// Far enough back to have seen every wall time that can be shown again.
	at := from.Truncate(time.Minute).Add(-27 * time.Hour)
	latest := shown(at.In(z))
	for at = at.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		wall := shown(at.In(z))
		if !wall.After(latest) {
			continue // shown before
		}
		fires := false
		for w := latest.Add(time.Minute); !w.After(wall) && !fires; w = w.Add(time.Minute) {
			fires = o.matches(w) // more than one step where the clocks skipped some
		}
		latest = wall
		if fires && at.After(from) {
			out = append(out, at)
		}
	}
	return out
}

var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Cairo", "America/Havana",
	"Asia/Kathmandu", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll", "America/Nuuk", "Pacific/Kwajalein", "Asia/Gaza",
}

// start is a moment between 1980 and 2106, so that offsets are whole minutes; half of them lie near a change of the
// clock.
func start(minutes uint32, z *time.Location) time.Time {
	at := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes%(126*365*24*60)) * time.Minute)
	if minutes%2 == 0 {
		if _, end := at.In(z).ZoneBounds(); !end.IsZero() {
			at = end.Add(time.Duration(minutes%3000)*time.Minute - 36*time.Hour)
		}
	}
	return at.Add(time.Duration(minutes%61) * time.Second)
}

func compare(t *testing.T, expr, seed string, minutes uint32, window time.Duration) {
	t.Helper()
	c, err := schedule.Parse(expr, seed)
	if err != nil {
		assert.NotEmpty(t, err.Error())
		return
	}
	z := zone(t, zones[int(minutes)%len(zones)])
	from := start(minutes, z)
	to := from.Add(window)
	want := newOracle(c.String()).runs(from, to, z)

	at, previous := from, time.Time{}
	for i, run := range want {
		at = c.Next(at, z)
		require.True(t, run.Equal(at), "run %d of %q in %s after %s: want %s, got %s", i, c, z, from, run.In(z), at)
		require.True(t, c.Latest(at, z).Equal(at), "a run is the latest at its own time")
		if !previous.IsZero() {
			require.True(t, c.Latest(at.Add(-time.Nanosecond), z).Equal(previous), "the latest before a run of %q in %s is the one before: %s", c, z, previous)
		}
		previous = at
		if i == 200 {
			return
		}
	}
	at = c.Next(at, z)
	require.True(t, at.After(to), "%q in %s after %s: there is no run at %s", c, z, from, at)
	require.False(t, at.IsZero())
	require.Less(t, at.Sub(from), 9*366*24*time.Hour)
}

func FuzzNext(f *testing.F) {
	for i, expr := range []string{
		"0 3 * * *", "*/15 * * * *", "30 2 * * *", "0 0 13 * 5", "H H * * *", "0 0/2 * * mon-fri", "0 0 29 2 *", "0 0 */2 * 1",
		"10/20 1-3 * jan,oct *", "* * * * *", "0 0 30 2 *", "1,,2 * * * *", "*/0 * * * *", "H/15 * * * *", "59 23 31 12 6",
	} {
		for n := range uint32(6) {
			f.Add(expr, "apps/nightly", n*7919*uint32(i+1)*1000)
		}
	}
	f.Fuzz(func(t *testing.T, expr, seed string, minutes uint32) {
		compare(t, expr, seed, minutes, 10*24*time.Hour)
	})
}

// What is generated always parses, so that each round compares something.
func FuzzNextOfValidExpressions(f *testing.F) {
	for n := range uint64(40) {
		f.Add(n*0x9E3779B97F4A7C15, uint32(n*104729000))
	}
	f.Fuzz(func(t *testing.T, shape uint64, minutes uint32) {
		compare(t, expression(shape), "a/b", minutes, 6*24*time.Hour)
	})
}

// expression writes one from random bits.
func expression(r uint64) string {
	take := func(n uint64) int {
		v := r % n
		r = r/n*0x2545F4914F6CDD1D + v + 1
		return int(v)
	}
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 28}, {1, 12}, {0, 6}}
	var fields []string
	for _, l := range limits {
		width := uint64(l[1] - l[0] + 1)
		a, b := l[0]+take(width), l[0]+take(width)
		switch take(7) {
		case 0, 1:
			fields = append(fields, "*")
		case 2:
			fields = append(fields, strconv.Itoa(a))
		case 3:
			fields = append(fields, strconv.Itoa(min(a, b))+"-"+strconv.Itoa(max(a, b)))
		case 4:
			fields = append(fields, "*/"+strconv.Itoa(1+take(9)))
		case 5:
			fields = append(fields, strconv.Itoa(a)+"/"+strconv.Itoa(1+take(9)))
		default:
			fields = append(fields, strconv.Itoa(a)+","+strconv.Itoa(b))
		}
	}
	return strings.Join(fields, " ")
}

// Any moment that a timestamp can hold, in any zone, has an answer.
func FuzzNextEnds(f *testing.F) {
	f.Add(int64(0), "Europe/Berlin")
	f.Add(int64(-62135596800), "America/New_York")
	f.Add(int64(253402300799), "Pacific/Apia")
	f.Fuzz(func(t *testing.T, seconds int64, name string) {
		z, err := schedule.Zone(name)
		if err != nil {
			return
		}
		const first, last = -62135596800, 253402300799
		at := time.Unix(max(first, min(last, seconds)), 0)
		for _, expr := range []string{"0 0 29 2 *", "* * * * *", "30 2 * * 0"} {
			c, err := schedule.Parse(expr, "")
			require.NoError(t, err)
			next := c.Next(at, z)
			assert.True(t, next.After(at))
			latest := c.Latest(at, z)
			assert.False(t, latest.After(at))
			assert.True(t, c.Next(latest, z).After(at), "nothing lies between the latest and the next")
		}
	})
}
