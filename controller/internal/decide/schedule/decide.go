// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopiur/kopiur/apis/expand"
	cron "github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

const (
	// late is how much later than pinned a run may be made and still be that run. Beyond it, the controller did not work.
	late = 2 * time.Minute
	// spread is over how long the runs that make up for missed ones are spread.
	spread = 5 * time.Minute
	// leastDeadline is the shortest deadline: a decision takes a moment.
	leastDeadline = 10 * time.Second
	// glance is the longest time without a look at the clock. A timer does not notice that the clock was set.
	glance = 10 * time.Minute
	// soon is when a Snapshot that was counted in this turn may go.
	soon = time.Second
)

// pin is a run that was decided about.
type pin struct {
	slot, at time.Time
	// first: runOnCreate asks for it, and no slot.
	first bool
}

// Decide says what a schedule does now. It is total.
func Decide(w World, now time.Time) Plan {
	now = now.Round(0) // without the machine's own count of time, which does not notice that the clock was set
	s := w.Schedule
	p := Plan{Last: s.Status.LastSchedule}
	history(&p, w)
	cascade(&p, w)
	spec, ambiguous := Inherit(s.Spec.Schedule.CronSpec, w.Defaults)
	times, err := Parse(spec, s.Namespace+"/"+s.Name, string(s.UID))
	d := decision{w: w, now: now, times: times, p: &p}
	p.Ambiguous = ambiguous
	switch {
	case s.Spec.Schedule.Suspend:
		p.State = Suspended
	case err != nil:
		p.stall(kopiurv1.ReasonInvalidSchedule, err.Error())
	default:
		d.run()
	}
	p.Unstamp = slices.DeleteFunc(p.Unstamp, func(c *kopiurv1.Snapshot) bool { return slices.Contains(p.Replace, c) })
	if p.After > 0 {
		p.After = min(p.After, glance)
	}
	if p.settles(w) && (p.After == 0 || p.After > soon) {
		p.After = soon
	}
	return p
}

func (p *Plan) stall(reason, message string) { p.State, p.Reason, p.Message = Stalled, reason, message }

func (p *Plan) wait(reason, format string, args ...any) {
	p.State, p.Reason, p.Message = Waiting, reason, fmt.Sprintf(format, args...)
}

type decision struct {
	w     World
	now   time.Time
	times Times
	p     *Plan
}

// run decides about the next run, where there can be one.
func (d *decision) run() {
	p, s := d.p, d.w.Schedule
	if refusal := validation.Guard(s); refusal.Refused() {
		p.stall(refusal.Reason, refusal.Message)
		return
	}
	active, rows, refusal := d.policies()
	switch {
	case s.Spec.PolicyRef != nil && len(d.w.Policies) == 0:
		// What is owed stays owed: the policy may be applied a moment after its schedule.
		p.wait(kopiurv1.ReasonMissingDependency, "SnapshotPolicy %s/%s does not exist", s.Namespace, s.Spec.PolicyRef.Name)
		d.hold()
		return
	case s.Spec.PolicyRef != nil && len(active) == 0:
		p.PolicySuspended = s.Spec.PolicyRef.Name
		p.State = Suspended
		return
	case len(active) == 0:
		p.wait(kopiurv1.ReasonNoPolicySelected, "spec.policySelector selects no SnapshotPolicy of namespace %s that is not suspended", s.Namespace)
		return
	case rows > expand.Most:
		p.Capped = fmt.Sprintf("a run would make %d Snapshots, and at most %d are made: narrow policySelector, or make several schedules of it", rows, expand.Most)
		p.stall(kopiurv1.ReasonFanoutCapped, p.Capped)
		return
	}
	p.State, p.Reason = Ready, kopiurv1.ReasonScheduled
	p.Message = "status.nextSchedule says when the next run is made"
	if refusal != nil && rows == 0 {
		p.wait(refusal.Reason, "%s", refusal.Message)
	}
	next := d.pinned()
	if d.now.Before(next.at) {
		d.next(next)
		return
	}
	d.due(next, active)
}

// policies are those that take part, how many Snapshots a run of theirs makes, and why one of them makes none.
func (d *decision) policies() (active []*kopiurv1.SnapshotPolicy, rows int, refusal *expand.Refusal) {
	for _, pol := range d.w.Policies {
		if pol.Spec.Suspend {
			continue
		}
		active = append(active, pol)
		members, r := expand.Members(pol, d.w.Claims)
		if r != nil {
			refusal = r
			continue
		}
		rows += len(members) * len(pol.RepositoryRefs())
	}
	return active, rows, refusal
}

// pinned is the run that was pinned, or is now.
func (d *decision) pinned() pin {
	s := d.w.Schedule
	st := s.Status
	if s.Spec.Schedule.RunOnCreate && st.LastSchedule == nil {
		first := d.w.Created.UTC().Truncate(time.Second)
		return pin{slot: first, at: first, first: true}
	}
	slot := slotOf(st.NextSchedule)
	switch {
	case slot.IsZero() && st.ObservedGeneration == 0 && st.LastSchedule == nil:
		return d.ahead(d.w.Created) // nobody has looked at it before
	case slot.IsZero() && st.ObservedGeneration == 0:
		return d.ahead(slotOf(st.LastSchedule))
	case slot.IsZero() || slot.After(d.now):
		return d.ahead(d.now)
	}
	at := d.times.Fire(slot)
	if n := st.NextSchedule; n.Jitter == string(d.times.spec.Jitter) && n.Timezone == d.zoneName() {
		// Not later than any decision of ours could have put it.
		if stored, most := parse(n.At), d.now.Add(spread); !stored.IsZero() && (!stored.After(most) || !stored.After(at)) {
			at = stored
		}
	}
	return pin{slot: slot, at: at}
}

// ahead is the first slot after a time whose run was not made yet.
func (d *decision) ahead(after time.Time) pin {
	slot := d.times.Next(after)
	for range len(d.w.Children) + 1 {
		if !d.made(slot) {
			break
		}
		slot = d.times.Next(slot)
	}
	return pin{slot: slot, at: d.times.Fire(slot)}
}

// made reports whether the run of a slot was made.
func (d *decision) made(slot time.Time) bool {
	if slotOf(d.w.Schedule.Status.LastSchedule).Equal(slot) {
		return true
	}
	for _, c := range d.w.Children {
		if childSlot(c).Equal(slot) {
			return true
		}
	}
	return false
}

func (d *decision) zoneName() string {
	if z := d.times.spec.Timezone; z != "" {
		return z
	}
	return time.UTC.String()
}

func (d *decision) slot(n pin) *kopiurv1.ScheduleSlot {
	return &kopiurv1.ScheduleSlot{At: Stamp(n.at), Slot: Stamp(n.slot), Timezone: d.zoneName(), Jitter: string(d.times.spec.Jitter)}
}

// next pins a run that lies ahead.
func (d *decision) next(n pin) {
	d.p.After = max(n.at.Sub(d.now), time.Millisecond)
	if n.first {
		return // runOnCreate says it all
	}
	d.p.Next = d.slot(n)
}

// hold keeps what is pinned until it can be made.
func (d *decision) hold() {
	if n := d.pinned(); !n.first {
		d.p.Next = d.slot(n)
	}
}

// due makes the run that is pinned, or one for all that came due meanwhile, or puts it off.
func (d *decision) due(n pin, active []*kopiurv1.SnapshotPolicy) {
	latest := n
	if slot := d.times.Due(d.now); !n.first && slot.After(n.slot) {
		latest = pin{slot: slot, at: d.times.Fire(slot)}
	}
	expiry, limited := d.expiry(latest)
	if limited && d.now.After(expiry) {
		d.p.Expired = fmt.Sprintf("the run of %s could not start within startingDeadlineSeconds and is left out", Stamp(latest.slot))
		d.next(d.ahead(latest.slot))
		return
	}
	if lateness := d.now.Sub(n.at); !n.first && lateness > late {
		at := d.now.Truncate(time.Second).Add(cron.Delay(d.times.uid, latest.slot, spread))
		if limited && at.After(expiry) {
			at = expiry
		}
		if at.After(d.now) {
			d.p.Missed = fmt.Sprintf("no run was made at %s; one run at %s makes up for all that were missed", Stamp(n.at), Stamp(at))
			d.next(pin{slot: latest.slot, at: at})
			return
		}
	}
	if n.at.After(latest.at) {
		latest.at = n.at
	}
	d.fire(latest, active)
	after := latest.slot
	if n.first {
		after = d.now
	}
	d.next(d.ahead(after))
}

// expiry is the last moment at which a run may start.
func (d *decision) expiry(n pin) (time.Time, bool) {
	limit := d.w.Schedule.Spec.Schedule.StartingDeadlineSeconds
	if limit == nil || n.first {
		return time.Time{}, false
	}
	return d.times.Fire(n.slot).Add(max(time.Duration(*limit)*time.Second, leastDeadline)), true
}
