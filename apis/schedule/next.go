// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"iter"
	"time"
)

// The expression speaks of what a clock on the wall shows. Such a time is kept here as a time in UTC with the same
// digits, and instantOf says when it is. Since a later time on the wall is never an earlier instant, the next run is
// that of the next wall time whose instant lies ahead.

// horizon of a search, in days. The rarest expression, 29 February, can be eight years away.
const horizon = 9 * 366

// Next is the first run after a time, the zero time only for the zero Cron. A time that the clocks skip fires at the
// first minute after the gap; one that they show twice fires the first time only.
func (c Cron) Next(after time.Time, zone *time.Location) time.Time {
	zone = orUTC(zone)
	wall := wallOf(after, zone).Truncate(time.Minute).Add(time.Minute)
	for {
		found, ok := c.step(wall, forwards)
		if !ok {
			return time.Time{}
		}
		wall = found
		if at := instantOf(wall, zone); at.After(after) {
			return at.In(zone)
		}
		wall = wall.Add(time.Minute)
	}
}

// Latest is the last run not after a time, the zero time only for the zero Cron.
func (c Cron) Latest(notAfter time.Time, zone *time.Location) time.Time {
	zone = orUTC(zone)
	// Where the clocks were set back, the wall has shown later times already.
	wall := wallOf(notAfter, zone)
	if start, _ := notAfter.In(zone).ZoneBounds(); !start.IsZero() {
		if before := wallOf(start.Add(-time.Nanosecond), zone); before.After(wall) {
			wall = before
		}
	}
	wall = wall.Truncate(time.Minute)
	for {
		found, ok := c.step(wall, backwards)
		if !ok {
			return time.Time{}
		}
		wall = found
		if at := instantOf(wall, zone); !at.After(notAfter) {
			return at.In(zone)
		}
		wall = wall.Add(-time.Minute)
	}
}

// After yields the runs after a time, in order and without end.
func (c Cron) After(after time.Time, zone *time.Location) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := c.Next(after, zone); !at.IsZero() && yield(at); at = c.Next(at, zone) {
		}
	}
}

const (
	forwards  = 1
	backwards = -1
)

// step finds the wall time nearest to from, itself included, that the expression names.
func (c Cron) step(from time.Time, direction int) (time.Time, bool) {
	day := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)
	first := from.Hour()*60 + from.Minute()
	for range horizon {
		if c.onDay(day) {
			if m, ok := c.inDay(first, direction); ok {
				return day.Add(time.Duration(m) * time.Minute), true
			}
		}
		day = day.AddDate(0, 0, direction)
		first = 0
		if direction == backwards {
			first = 24*60 - 1
		}
	}
	return time.Time{}, false
}

func (c Cron) onDay(day time.Time) bool {
	if c.month&(1<<day.Month()) == 0 {
		return false
	}
	dom, dow := c.dom&(1<<day.Day()) != 0, c.dow&(1<<day.Weekday()) != 0
	if c.either {
		return dom || dow
	}
	return dom && dow
}

// inDay finds the minute of the day nearest to from that the expression names.
func (c Cron) inDay(from, direction int) (int, bool) {
	for m := from; 0 <= m && m < 24*60; m += direction {
		if c.hour&(1<<(m/60)) != 0 && c.minute&(1<<(m%60)) != 0 {
			return m, true
		}
	}
	return 0, false
}

func orUTC(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// wallOf is what the zone's clocks show at an instant.
func wallOf(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instantOf is when the zone's clocks show a time first, or the first whole minute that they show after they skipped
// it. It walks along the zone's periods of one offset each: where the wall time lies before the begin of a period, as
// that period's clocks show it, the clocks have skipped it.
func instantOf(wall time.Time, zone *time.Location) time.Time {
	// No zone is as far from UTC as this.
	at := wall.Add(-26 * time.Hour)
	for {
		start, end, offset := period(at, zone)
		candidate := wall.Add(-offset)
		switch {
		case !start.IsZero() && candidate.Before(start):
			shown := wallOf(start, zone)
			return start.Add(shown.Add(time.Minute - time.Nanosecond).Truncate(time.Minute).Sub(shown)).UTC()
		case end.IsZero() || candidate.Before(end):
			return candidate
		}
		at = end
	}
}

// period is the time around an instant with one offset from UTC. It may end early, but the next one follows at once.
func period(at time.Time, zone *time.Location) (start, end time.Time, offset time.Duration) {
	at = at.In(zone)
	start, end = at.ZoneBounds()
	_, seconds := at.Zone()
	if !end.IsZero() && !end.After(at) {
		// Beyond its table, Go ends a year after 365 days. The last of a leap year would never be left.
		end = at.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return start, end, time.Duration(seconds) * time.Second
}
