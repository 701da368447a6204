// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package due says when something that runs at set times is due. What comes next is pinned, in the status of the object
// that runs: so a turn is neither doubled nor skipped by a crash, a clock that is set, or a day without a controller,
// after which there is one turn and not one for every time that was missed.
//
// A new schedule begins with its next time, never with one that has passed (J-12).
package due

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Rule is a schedule that can be computed with.
type Rule struct {
	cron   schedule.Cron
	zone   *time.Location
	jitter time.Duration
	uid    string
	text   string
}

// Parse reads a schedule. What it leaves out comes from the fallback, and then from the repository's defaults, which may
// be nil. seed is the object's namespace/name, uid its UID.
func Parse(spec kopiurv1.CronSpec, zone string, defaults *kopiurv1.ScheduleDefaults, seed, uid string) (Rule, error) {
	jitter := spec.Jitter
	if spec.Timezone != "" {
		zone = spec.Timezone
	}
	if defaults != nil {
		if zone == "" {
			zone = defaults.Timezone
		}
		if jitter == "" {
			jitter = defaults.Jitter
		}
	}
	cron, err := schedule.Parse(spec.Cron, seed)
	if err != nil {
		return Rule{}, fmt.Errorf("cron: %w", err)
	}
	location, err := schedule.Zone(zone)
	if err != nil {
		return Rule{}, fmt.Errorf("timezone: %w", err)
	}
	delay, err := schedule.Jitter(jitter)
	if err != nil {
		return Rule{}, fmt.Errorf("jitter: %w", err)
	}
	parts := []string{cron.String(), location.String()}
	if delay > 0 {
		parts = append(parts, "+"+delay.String())
	}
	return Rule{cron: cron, zone: location, jitter: delay, uid: uid, text: strings.Join(parts, " ")}, nil
}

// Text is the rule in one line. A pin that was made by another rule is no longer good.
func (r Rule) Text() string { return r.text }

// Pin is the next turn, and the rule that it was computed by.
type Pin struct {
	At   time.Time
	Rule string
}

// Next pins the first turn after a time.
func (r Rule) Next(after time.Time) Pin {
	slot := r.cron.Next(after, r.zone)
	return Pin{At: slot.Add(schedule.Delay(r.uid, slot, r.jitter)).UTC(), Rule: r.text}
}

// Keep is the pin as it was, where it is still good, and a new one otherwise: the first one, another rule, or a clock that
// was set back so far that whole turns lie before the pin. It may be set back over the one turn that was just made without
// making it again.
func (r Rule) Keep(p Pin, now time.Time) Pin {
	if p.At.IsZero() || p.Rule != r.text {
		return r.Next(now)
	}
	second := r.cron.Next(r.cron.Next(now, r.zone), r.zone)
	if !second.IsZero() && p.At.After(second.Add(r.jitter)) {
		return r.Next(now)
	}
	return p
}

// Interval is the time between the two turns after a time.
func (r Rule) Interval(after time.Time) time.Duration {
	first := r.cron.Next(after, r.zone)
	return r.cron.Next(first, r.zone).Sub(first)
}

// Retry is a pin for a turn that came to nothing: after a rest, unless the next one is due before that.
func (r Rule) Retry(now time.Time, rest time.Duration) Pin {
	next := r.Next(now)
	if again := now.Add(rest).UTC().Truncate(time.Second); again.Before(next.At) {
		next.At = again
	}
	return next
}

// Read is a pin as a status has it.
func Read(at, rule string) Pin {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return Pin{}
	}
	return Pin{At: t, Rule: rule}
}

// String is the pin's time as a status has it.
func (p Pin) String() string {
	if p.At.IsZero() {
		return ""
	}
	return p.At.UTC().Format(time.RFC3339)
}
