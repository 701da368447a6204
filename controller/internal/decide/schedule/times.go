// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cron "github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Default is what a repository says about all that is scheduled for it.
type Default struct {
	Repository kopiurv1.RepositoryRef
	kopiurv1.ScheduleDefaults
}

// DefaultOf is the Default of a repository, which may say nothing.
func DefaultOf(ref kopiurv1.RepositoryRef, d *kopiurv1.ScheduleDefaults) Default {
	out := Default{Repository: ref}
	if d != nil {
		out.ScheduleDefaults = *d
	}
	return out
}

// Inherit fills in what a schedule does not say itself from the defaults of its repositories; those that have none have
// no say. Of several time zones none is taken, which leaves UTC, and ambiguous says so; of several jitters the longest,
// which keeps the promise of all.
func Inherit(own kopiurv1.CronSpec, defaults []Default) (out kopiurv1.CronSpec, ambiguous string) {
	out = own
	zones := map[string][]string{}
	var longest time.Duration
	for _, d := range defaults {
		if d.Timezone != "" && !slices.Contains(zones[d.Timezone], d.Repository.String()) {
			zones[d.Timezone] = append(zones[d.Timezone], d.Repository.String())
		}
		if own.Jitter != "" {
			continue
		}
		if jitter, err := d.Jitter.Parse(0); d.Jitter != "" && (err != nil || jitter > longest) {
			out.Jitter, longest = d.Jitter, jitter
		}
	}
	if own.Timezone != "" {
		return out, ""
	}
	var said []string
	for zone, by := range zones {
		out.Timezone = zone
		slices.Sort(by)
		said = append(said, zone+" ("+by[0]+")")
	}
	if len(zones) > 1 {
		slices.Sort(said)
		out.Timezone = ""
		ambiguous = "it names no time zone, and its repositories have different defaults: " + strings.Join(said, ", ") + "; it uses UTC: write schedule.timezone"
	}
	return out, ambiguous
}

// Times are the runs of one schedule.
type Times struct {
	cron   cron.Cron
	zone   *time.Location
	jitter time.Duration
	uid    string
	// spec is what they were computed from.
	spec kopiurv1.CronSpec
}

// Parse reads when something runs. seed is its namespace/name and uid its UID: H follows from the one, delays from the
// other.
func Parse(spec kopiurv1.CronSpec, seed, uid string) (Times, error) {
	t := Times{uid: uid, spec: spec}
	var err error
	if t.cron, err = cron.Parse(spec.Cron, seed); err != nil {
		return t, fmt.Errorf("schedule.cron: %w", err)
	}
	if t.zone, err = cron.Zone(spec.Timezone); err != nil {
		return t, fmt.Errorf("schedule.timezone: %w", err)
	}
	if t.jitter, err = cron.Jitter(spec.Jitter); err != nil {
		return t, fmt.Errorf("schedule.jitter: %w", err)
	}
	return t, nil
}

// Next is the first slot after a time.
func (t Times) Next(after time.Time) time.Time { return t.cron.Next(after, t.zone).UTC() }

// Fire is when the run of a slot is made. A jitter that is longer than the time to the next slot counts as that: each run
// is made before the next one's slot, or they would overtake each other.
func (t Times) Fire(slot time.Time) time.Time {
	jitter := t.jitter
	if jitter > 0 {
		jitter = min(jitter, t.Next(slot).Sub(slot))
	}
	return slot.Add(cron.Delay(t.uid, slot, jitter))
}

// Due is the last slot whose run should have been made at a time.
func (t Times) Due(now time.Time) time.Time {
	slot := t.cron.Latest(now, t.zone).UTC()
	if t.Fire(slot).After(now) {
		slot = t.cron.Latest(slot.Add(-time.Nanosecond), t.zone).UTC()
	}
	return slot
}
