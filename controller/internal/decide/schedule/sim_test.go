// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
)

// sim is a schedule in a world that does what is decided.
type sim struct {
	t     *testing.T
	w     schedule.World
	clock time.Time
	plan  schedule.Plan
	// made are the slots of all Snapshots that were ever made, in order; at is when.
	made, at []string
	// events that were told.
	events []string
}

const (
	day = 24 * time.Hour
	// glance is how long a schedule rests at most.
	glance = 10 * time.Minute
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

// start of every sim: a Thursday, at noon.
const start = "2026-03-05T12:00:00Z"

func policy(name string, edit ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	for _, f := range edit {
		f(p)
	}
	return p
}

func newSim(t *testing.T, cron string, edit ...func(*kopiurv1.SnapshotSchedule)) *sim {
	t.Helper()
	s := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "apps", UID: "u-1", Generation: 1}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	s.Spec.Schedule.Cron = cron
	for _, f := range edit {
		f(s)
	}
	return &sim{t: t, clock: at(start), w: schedule.World{Schedule: s, Created: at(start), Policies: []*kopiurv1.SnapshotPolicy{policy("web")}}}
}

// edit changes the schedule as a person does.
func (m *sim) edit(f func(*kopiurv1.SnapshotSchedule)) {
	f(m.w.Schedule)
	m.w.Schedule.Generation++
}

// look is one turn of the controller, which does what it decides.
func (m *sim) look() schedule.Plan {
	m.t.Helper()
	p := schedule.Decide(m.w, m.clock)
	m.plan = p
	for _, v := range p.Replace {
		m.remove(v)
	}
	for _, s := range p.Create {
		s.CreationTimestamp = metav1.NewTime(m.clock)
		if slices.ContainsFunc(m.w.Children, func(c *kopiurv1.Snapshot) bool { return c.Name == s.Name }) {
			continue
		}
		m.w.Children = append(m.w.Children, s)
		m.made = append(m.made, s.Annotations[kopiurv1.AnnotationScheduleSlot])
		m.at = append(m.at, schedule.Stamp(m.clock))
	}
	m.record(p)
	for _, v := range p.Prune {
		m.remove(v)
	}
	return p
}

// record is the status write.
func (m *sim) record(p schedule.Plan) {
	st := &m.w.Schedule.Status
	st.LastSchedule, st.NextSchedule = p.Last.DeepCopy(), p.Next
	st.LastSuccessfulSchedule, st.LastFailedSchedule, st.ConsecutiveFailures = p.Succeeded, p.Failed, p.Failures
	st.ObservedGeneration = m.w.Schedule.Generation
	for _, e := range []string{p.Missed, p.Expired} {
		if e != "" {
			m.events = append(m.events, e)
		}
	}
	for _, s := range p.Skips {
		m.events = append(m.events, s.Policy+": "+s.Why)
	}
}

func (m *sim) remove(s *kopiurv1.Snapshot) {
	m.w.Children = slices.DeleteFunc(m.w.Children, func(c *kopiurv1.Snapshot) bool { return c == s })
}

// until lets the time pass, with a turn whenever one was asked for. Runs end at once unless the test holds them.
func (m *sim) until(end string, hold ...bool) {
	m.t.Helper()
	for turns := 0; ; turns++ {
		require.Less(m.t, turns, 1_000_000, "it never rests")
		p := m.look()
		if len(hold) == 0 && m.finish(kopiurv1.SnapshotSucceeded) {
			p = m.look() // their end wakes it
		}
		rest := p.After
		if n := p.Next; n != nil && rest == glance {
			rest = at(n.At).Sub(m.clock) // nobody sets the clock meanwhile
		}
		if rest <= 0 || m.clock.Add(rest).After(at(end)) {
			break
		}
		m.clock = m.clock.Add(rest)
		if n := len(m.w.Children); n > 30 && len(hold) == 0 {
			m.w.Children = m.w.Children[n-10:] // retention
		}
	}
	m.clock = at(end)
}

// finish ends all runs, and reports whether there were any.
func (m *sim) finish(phase kopiurv1.SnapshotPhase) (some bool) {
	for _, c := range m.w.Children {
		if !c.Status.Phase.Terminal() {
			c.Status.Phase, some = phase, true
		}
	}
	return some
}

// outage is a time without a controller.
func (m *sim) outage(end string) { m.clock = at(end) }

// next is what the status says about the next run.
func (m *sim) next() string {
	if n := m.w.Schedule.Status.NextSchedule; n != nil {
		return n.At
	}
	return ""
}
