// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
)

func concurrency(p kopiurv1.ConcurrencyPolicy) func(*kopiurv1.SnapshotSchedule) {
	return func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.ConcurrencyPolicy = p }
}

func deadline(seconds int64) func(*kopiurv1.SnapshotSchedule) {
	return func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.StartingDeadlineSeconds = &seconds }
}

func running(c *kopiurv1.Snapshot) {
	c.Status.Phase, c.Status.Job = kopiurv1.SnapshotRunning, &kopiurv1.JobStatus{Name: "s-1", Attempts: 1}
}

func claim(name string) corev1.PersistentVolumeClaim {
	c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps"}}
	c.Spec.VolumeName = "pv-" + name
	return c
}

func onCreate(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.RunOnCreate = true }

// TestRuns: what happens over some days. want are the slots whose runs were made.
func TestRuns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cron string
		edit []func(*kopiurv1.SnapshotSchedule)
		do   func(m *sim)
		want []string
		told string
		next string
	}{
		"every night once": {
			cron: "0 2 * * *", do: func(m *sim) { m.until("2026-03-08T12:00:00Z") },
			want: []string{"03-06T02:00", "03-07T02:00", "03-08T02:00"}, next: "2026-03-09T02:00:00Z",
		},
		"nothing before its first time": {
			cron: "0 2 * * *", do: func(m *sim) { m.until("2026-03-05T23:00:00Z") }, next: "2026-03-06T02:00:00Z",
		},
		"at once where runOnCreate asks for it, and then as cron says": {
			cron: "0 2 * * *", edit: []func(*kopiurv1.SnapshotSchedule){onCreate}, do: func(m *sim) { m.until("2026-03-06T12:00:00Z") },
			want: []string{"03-05T12:00", "03-06T02:00"}, next: "2026-03-07T02:00:00Z",
		},
		"runOnCreate is for the first run alone, also where it is set later": {
			cron: "0 2 * * *", do: func(m *sim) {
				m.until("2026-03-06T12:00:00Z")
				m.edit(onCreate)
				m.until("2026-03-06T13:00:00Z")
			}, want: []string{"03-06T02:00"}, next: "2026-03-07T02:00:00Z",
		},
		"runOnCreate waits for the end of a suspension": {
			cron: "0 2 * * *", edit: []func(*kopiurv1.SnapshotSchedule){onCreate, func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Suspend = true }}, do: func(m *sim) {
				m.until("2026-03-06T12:00:00Z")
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Suspend = false })
				m.until("2026-03-06T13:00:00Z")
			}, want: []string{"03-05T12:00"}, next: "2026-03-07T02:00:00Z",
		},
		"what came while the controller was still to be installed is made up for": {
			cron: "0 13 * * *", do: func(m *sim) { m.outage("2026-03-05T13:30:00Z"); m.until("2026-03-05T14:00:00Z") },
			want: []string{"03-05T13:00"}, told: "makes up for all that were missed", next: "2026-03-06T13:00:00Z",
		},
		"a night without the controller is one run, that of the last time (C-1)": {
			cron: "0 * * * *", do: func(m *sim) {
				m.until("2026-03-05T20:30:00Z")
				m.outage("2026-03-06T07:30:00Z")
				m.until("2026-03-06T08:30:00Z")
			}, want: []string{"03-05T13:00", "03-05T14:00", "03-05T15:00", "03-05T16:00", "03-05T17:00", "03-05T18:00", "03-05T19:00", "03-05T20:00", "03-06T07:00", "03-06T08:00"},
			told: "makes up for all", next: "2026-03-06T09:00:00Z",
		},
		"two minutes late is on time": {
			cron: "0 13 * * *", do: func(m *sim) {
				m.look()
				m.outage("2026-03-05T13:01:59Z")
				m.until("2026-03-05T13:02:00Z")
			}, want: []string{"03-05T13:00"}, next: "2026-03-06T13:00:00Z",
		},
		"one that makes up is made for the newest time that has come till then": {
			cron: "*/10 * * * *", do: func(m *sim) {
				m.until("2026-03-05T12:25:00Z")
				m.outage("2026-03-05T12:59:30Z")
				m.until("2026-03-05T13:09:00Z")
			}, want: []string{"03-05T12:10", "03-05T12:20", "03-05T13:00"}, told: "makes up", next: "2026-03-05T13:10:00Z",
		},
		"what is later than startingDeadlineSeconds is left out": {
			cron: "0 13 * * *", edit: []func(*kopiurv1.SnapshotSchedule){deadline(600)}, do: func(m *sim) {
				m.look()
				m.outage("2026-03-05T13:10:01Z")
				m.until("2026-03-05T14:00:00Z")
			}, told: "could not start within startingDeadlineSeconds", next: "2026-03-06T13:00:00Z",
		},
		"what is late and in time is made before the deadline": {
			cron: "0 13 * * *", edit: []func(*kopiurv1.SnapshotSchedule){deadline(600)}, do: func(m *sim) {
				m.look()
				m.outage("2026-03-05T13:09:59Z")
				m.until("2026-03-05T13:10:00Z")
			}, want: []string{"03-05T13:00"}, told: "makes up", next: "2026-03-06T13:00:00Z",
		},
		"a deadline of nothing leaves a moment": {
			cron: "0 13 * * *", edit: []func(*kopiurv1.SnapshotSchedule){deadline(0)}, do: func(m *sim) {
				m.look()
				m.outage("2026-03-05T13:00:09Z")
				m.until("2026-03-05T13:00:30Z")
			}, want: []string{"03-05T13:00"}, next: "2026-03-06T13:00:00Z",
		},
		"a deadline counts for the newest time, not the first that was missed": {
			cron: "0 * * * *", edit: []func(*kopiurv1.SnapshotSchedule){deadline(1800)}, do: func(m *sim) {
				m.look()
				m.outage("2026-03-06T07:10:00Z")
				m.until("2026-03-06T07:30:00Z")
			}, want: []string{"03-06T07:00"}, told: "makes up", next: "2026-03-06T08:00:00Z",
		},
		"suspended, nothing; and nothing is made up for": {
			cron: "0 * * * *", do: func(m *sim) {
				m.until("2026-03-05T13:30:00Z")
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Suspend = true })
				m.until("2026-03-05T17:30:00Z")
				assert.Equal(m.t, schedule.Suspended, m.plan.State)
				assert.Empty(m.t, m.next())
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Suspend = false })
				m.until("2026-03-05T18:30:00Z")
			}, want: []string{"03-05T13:00", "03-05T18:00"}, next: "2026-03-05T19:00:00Z",
		},
		"a policy that is suspended suspends its schedule": {
			cron: "0 * * * *", do: func(m *sim) {
				m.w.Policies[0].Spec.Suspend = true
				m.until("2026-03-05T17:30:00Z")
				assert.Equal(m.t, "web", m.plan.PolicySuspended)
				m.w.Policies[0].Spec.Suspend = false
				m.until("2026-03-05T18:30:00Z")
			}, want: []string{"03-05T18:00"}, next: "2026-03-05T19:00:00Z",
		},
		"a policy that comes later gets the run that is owed": {
			cron: "0 13 * * *", do: func(m *sim) {
				web := m.w.Policies
				m.w.Policies = nil
				m.until("2026-03-05T14:00:00Z")
				assert.Equal(m.t, kopiurv1.ReasonMissingDependency, m.plan.Reason)
				assert.Equal(m.t, "2026-03-05T13:00:00Z", m.next(), "it stays owed")
				m.w.Policies = web
				m.until("2026-03-05T14:10:00Z")
			}, want: []string{"03-05T13:00"}, told: "makes up", next: "2026-03-06T13:00:00Z",
		},
		"another cron counts at once": {
			cron: "0 2 * * *", do: func(m *sim) {
				m.look()
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "0 * * * *" })
				m.until("2026-03-05T14:30:00Z")
			}, want: []string{"03-05T13:00", "03-05T14:00"}, next: "2026-03-05T15:00:00Z",
		},
		"and has nothing to make up for": {
			cron: "0 11 * * *", do: func(m *sim) {
				m.until("2026-03-06T11:30:00Z")
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "0 9 * * *" })
				m.until("2026-03-06T12:00:00Z")
			}, want: []string{"03-06T11:00"}, next: "2026-03-07T09:00:00Z",
		},
		"another time zone counts at once": {
			cron: "0 2 * * *", do: func(m *sim) {
				m.look()
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = "America/New_York" })
				m.until("2026-03-06T12:00:00Z")
			}, want: []string{"03-06T07:00"}, next: "2026-03-07T07:00:00Z",
		},
		"an edit while a run is owed leaves it owed": {
			cron: "0 13 * * *", do: func(m *sim) {
				m.look()
				m.outage("2026-03-05T13:30:00Z")
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "0 15 * * *" })
				m.until("2026-03-05T15:30:00Z")
			}, want: []string{"03-05T13:00", "03-05T15:00"}, told: "makes up", next: "2026-03-06T15:00:00Z",
		},
		"what cannot be read stalls, and what came meanwhile is not made up for": {
			cron: "0 * * * *", do: func(m *sim) {
				m.look()
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = "Mars/Olympus" })
				m.until("2026-03-05T14:30:00Z")
				assert.Equal(m.t, kopiurv1.ReasonInvalidSchedule, m.plan.Reason)
				assert.Contains(m.t, m.plan.Message, "Mars/Olympus")
				m.edit(func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = "" })
				m.until("2026-03-05T15:30:00Z")
			}, want: []string{"03-05T15:00"}, next: "2026-03-05T16:00:00Z",
		},
		"a status of another version is read": {
			cron: "0 * * * *", do: func(m *sim) {
				m.w.Schedule.Status.ObservedGeneration = 1
				m.w.Schedule.Status.LastSchedule = &kopiurv1.ScheduleSlot{At: "2026-03-05T11:00:20Z"}
				m.w.Schedule.Status.NextSchedule = &kopiurv1.ScheduleSlot{At: "2026-03-05T13:00:20Z"}
				m.until("2026-03-05T13:30:00Z")
			}, want: []string{"03-05T13:00"}, next: "2026-03-05T14:00:00Z",
		},
		"one that owes a run owes it": {
			cron: "0 * * * *", do: func(m *sim) {
				m.w.Schedule.Status.ObservedGeneration = 1
				m.w.Schedule.Status.LastSchedule = &kopiurv1.ScheduleSlot{At: "2026-03-05T10:00:20Z"}
				m.w.Schedule.Status.NextSchedule = &kopiurv1.ScheduleSlot{At: "2026-03-05T11:00:20Z"}
				m.until("2026-03-05T12:30:00Z")
			}, want: []string{"03-05T12:00"}, told: "makes up", next: "2026-03-05T13:00:00Z",
		},
		"a pin that nobody can have made does not hold anything up": {
			cron: "0 * * * *", do: func(m *sim) {
				m.until("2026-03-05T12:30:00Z")
				m.w.Schedule.Status.NextSchedule.Slot = "2026-03-05T12:00:00Z"
				m.w.Schedule.Status.NextSchedule.At = "3026-03-05T12:00:00Z"
				m.until("2026-03-05T12:50:00Z")
			}, want: []string{"03-05T12:00"}, told: "makes up", next: "2026-03-05T13:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSim(t, tc.cron, tc.edit...)
			tc.do(m)
			var made []string
			for _, s := range m.made {
				made = append(made, strings.TrimSuffix(strings.TrimPrefix(s, "2026-"), ":00Z"))
			}
			assert.Equal(t, tc.want, made, "made at %v", m.at)
			assert.Equal(t, tc.next, m.next())
			if tc.told == "" {
				assert.Empty(t, m.events)
			} else {
				require.Len(t, m.events, 1, "%v", m.events)
				assert.Contains(t, m.events[0], tc.told)
			}
		})
	}
}

// TestConcurrency: one run is under way when the next is due.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy    kopiurv1.ConcurrencyPolicy
		state     func(*kopiurv1.Snapshot)
		create    int
		replace   int
		told      string
		lastStays bool
	}{
		"Forbid leaves the second out":                                    {kopiurv1.ConcurrencyForbid, running, 0, 0, "has not ended, and concurrencyPolicy is Forbid", true},
		"so does none, which is Forbid":                                   {"", running, 0, 0, "Forbid", true},
		"Allow makes it":                                                  {kopiurv1.ConcurrencyAllow, running, 1, 0, "", false},
		"Replace makes it and deletes the first":                          {kopiurv1.ConcurrencyReplace, running, 1, 1, "", false},
		"Forbid has nothing against one that ended":                       {kopiurv1.ConcurrencyForbid, func(c *kopiurv1.Snapshot) { c.Status.Phase = kopiurv1.SnapshotFailed }, 1, 0, "", false},
		"Replace does not delete one that ended":                          {kopiurv1.ConcurrencyReplace, func(c *kopiurv1.Snapshot) { c.Status.Phase = kopiurv1.SnapshotSucceeded }, 1, 0, "", false},
		"one that waits stands for the second (C-1)":                      {kopiurv1.ConcurrencyForbid, func(c *kopiurv1.Snapshot) { c.Status.Phase = kopiurv1.SnapshotPending }, 0, 0, "stands for this run", true},
		"also where runs may overlap: or all would start at once (C-1)":   {kopiurv1.ConcurrencyAllow, func(c *kopiurv1.Snapshot) { c.Status.Phase = kopiurv1.SnapshotPending }, 0, 0, "stands for this run", true},
		"also where it could be replaced: the new one would wait as well": {kopiurv1.ConcurrencyReplace, func(*kopiurv1.Snapshot) {}, 0, 0, "stands for this run", true},
		"one whose copy is being made has begun": {kopiurv1.ConcurrencyReplace, func(c *kopiurv1.Snapshot) {
			c.Status.Phase, c.Status.Staged = kopiurv1.SnapshotPending, &kopiurv1.Staged{CopyMethod: kopiurv1.CopySnapshot}
		}, 1, 1, "", false},
		"one that is being deleted does not count": {kopiurv1.ConcurrencyForbid, func(c *kopiurv1.Snapshot) {
			c.DeletionTimestamp, c.Status.Phase = new(metav1.Now()), kopiurv1.SnapshotDeleting
		}, 1, 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSim(t, "0 * * * *", concurrency(tc.policy))
			m.until("2026-03-05T13:30:00Z", true)
			require.Len(t, m.w.Children, 1)
			tc.state(m.w.Children[0])
			m.clock = at("2026-03-05T14:00:00Z")
			p := schedule.Decide(m.w, m.clock)
			assert.Len(t, p.Create, tc.create)
			assert.Len(t, p.Replace, tc.replace)
			if tc.told == "" {
				assert.Empty(t, p.Skips)
			} else {
				require.Len(t, p.Skips, 1)
				assert.Contains(t, p.Skips[0].Why, tc.told)
			}
			assert.Equal(t, "2026-03-05T15:00:00Z", p.Next.At, "the slot has passed, one way or the other")
			assert.Equal(t, tc.lastStays, p.Last.Slot == "2026-03-05T13:00:00Z")
		})
	}
}

// TestAStoreThatIsDownForANightC1: the first run of the night waits, the others are left out; when it goes on, there is
// nothing more.
func TestAStoreThatIsDownForANightC1(t *testing.T) {
	t.Parallel()
	for _, policy := range []kopiurv1.ConcurrencyPolicy{kopiurv1.ConcurrencyForbid, kopiurv1.ConcurrencyAllow, kopiurv1.ConcurrencyReplace} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			m := newSim(t, "0 * * * *", concurrency(policy))
			m.until("2026-03-05T20:30:00Z")
			before := len(m.made)
			m.until("2026-03-06T07:30:00Z", true)
			assert.Len(t, m.made, before+1, "one waits")
			assert.Len(t, m.events, 10, "the others are told of")
			m.finish(kopiurv1.SnapshotSucceeded)
			m.until("2026-03-06T07:59:00Z")
			assert.Len(t, m.made, before+1, "it was the one that catches up")
			m.until("2026-03-06T08:30:00Z")
			assert.Len(t, m.made, before+2)
		})
	}
}

// TestNoStampedeC1: after an outage, schedules that would all start together are spread.
func TestNoStampedeC1(t *testing.T) {
	t.Parallel()
	perMinute := map[string]int{}
	const n = 500
	for i := range n {
		m := newSim(t, "0 2 * * *", func(s *kopiurv1.SnapshotSchedule) { s.UID = types(i) })
		m.look()
		m.outage("2026-03-06T07:00:00Z")
		m.until("2026-03-06T07:10:00Z")
		require.Len(t, m.at, 1)
		perMinute[m.at[0][:16]]++
	}
	assert.Len(t, perMinute, 5, "%v", perMinute)
	for minute, count := range perMinute {
		assert.Less(t, count, n/3, minute)
	}
}

// TestAClockThatIsSetI10: whatever the clock does, every time it passes is run once.
func TestAClockThatIsSetI10(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *")
	m.until("2026-03-05T15:30:00Z")
	assert.Len(t, m.made, 3)

	t.Log("back by two hours: those times were run")
	m.clock = at("2026-03-05T13:30:00Z")
	m.until("2026-03-05T15:59:00Z")
	assert.Len(t, m.made, 3)
	m.until("2026-03-05T16:30:00Z")
	assert.Len(t, m.made, 4)

	t.Log("ahead by five hours: one run makes up for those that were skipped")
	m.clock = at("2026-03-05T21:30:00Z")
	m.until("2026-03-05T21:45:00Z")
	assert.Equal(t, "2026-03-05T21:00:00Z", m.made[len(m.made)-1])
	assert.Len(t, m.made, 5)

	t.Log("and back: the times that were left out are run, the one that was not")
	m.clock = at("2026-03-05T16:45:00Z")
	m.until("2026-03-05T22:30:00Z")
	assert.Equal(t, []string{"2026-03-05T17:00:00Z", "2026-03-05T18:00:00Z", "2026-03-05T19:00:00Z", "2026-03-05T20:00:00Z", "2026-03-05T22:00:00Z"}, m.made[5:])

	t.Log("ahead by years and back: no year without backups")
	m.clock = at("2031-01-01T00:10:00Z")
	m.until("2031-01-01T00:30:00Z")
	m.clock = at("2026-03-05T22:45:00Z")
	m.until("2026-03-05T23:30:00Z")
	assert.Equal(t, []string{"2031-01-01T00:00:00Z", "2026-03-05T23:00:00Z"}, m.made[10:])

	t.Log("to and fro by a second around the time itself")
	before := len(m.made)
	for range 5 {
		for _, s := range []string{"2026-03-05T23:59:59Z", "2026-03-06T00:00:00Z", "2026-03-06T00:00:01Z"} {
			m.clock = at(s)
			m.look()
		}
	}
	assert.Len(t, m.made, before+1)
}

// I-10: TestALookAtTheClock: a timer does not notice that the clock was set, so it is looked at now and then.
func TestALookAtTheClock(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 2 1 1 *")
	assert.Equal(t, 10*time.Minute, m.look().After)
}

// TestKilledBetweenTwoWrites: what was made and not recorded is found again.
func TestKilledBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	m := newSim(t, "0 * * * *", func(s *kopiurv1.SnapshotSchedule) {
		s.Spec.PolicyRef, s.Spec.PolicySelector = nil, &metav1.LabelSelector{}
	})
	m.w.Policies = []*kopiurv1.SnapshotPolicy{policy("a"), policy("b"), policy("c")}
	m.look()
	m.clock = at("2026-03-05T13:00:00Z")
	p := schedule.Decide(m.w, m.clock)
	require.Len(t, p.Create, 3)
	m.w.Children = append(m.w.Children, p.Create[1]) // and then the end
	m.made = append(m.made, "2026-03-05T13:00:00Z")
	m.clock = at("2026-03-05T13:00:40Z")
	m.look()
	assert.Len(t, m.made, 3)
	assert.Equal(t, "2026-03-05T13:00:00Z", m.w.Schedule.Status.LastSchedule.Slot)
}

func TestSelector(t *testing.T) {
	t.Parallel()
	selects := func(s *kopiurv1.SnapshotSchedule) {
		s.Spec.PolicyRef, s.Spec.PolicySelector = nil, &metav1.LabelSelector{}
	}
	t.Run("one that hangs does not hold up the others", func(t *testing.T) {
		t.Parallel()
		m := newSim(t, "0 * * * *", selects)
		m.w.Policies = []*kopiurv1.SnapshotPolicy{policy("a"), policy("b")}
		m.until("2026-03-05T13:30:00Z", true)
		require.Len(t, m.made, 2)
		assert.Equal(t, "nightly-20260305-130000-a", m.w.Children[0].Name)
		running(m.w.Children[0])
		m.w.Children[1].Status.Phase = kopiurv1.SnapshotSucceeded
		m.until("2026-03-05T14:30:00Z", true)
		assert.Equal(t, "nightly-20260305-140000-b", m.w.Children[2].Name)
		assert.Len(t, m.made, 3)
	})
	t.Run("one that is suspended takes no part", func(t *testing.T) {
		t.Parallel()
		m := newSim(t, "0 * * * *", selects)
		m.w.Policies = []*kopiurv1.SnapshotPolicy{policy("a"), policy("b", func(p *kopiurv1.SnapshotPolicy) { p.Spec.Suspend = true })}
		m.until("2026-03-05T13:30:00Z")
		assert.Len(t, m.made, 1)
	})
	t.Run("none is said, and owes nothing", func(t *testing.T) {
		t.Parallel()
		m := newSim(t, "0 * * * *", selects)
		m.w.Policies = nil
		m.until("2026-03-05T14:30:00Z")
		assert.Equal(t, schedule.Waiting, m.plan.State)
		assert.Equal(t, kopiurv1.ReasonNoPolicySelected, m.plan.Reason)
		m.w.Policies = []*kopiurv1.SnapshotPolicy{policy("a")}
		m.until("2026-03-05T15:30:00Z")
		assert.Equal(t, []string{"2026-03-05T15:00:00Z"}, m.made)
	})
	t.Run("a policy that stands for nothing is left out, and says why", func(t *testing.T) {
		t.Parallel()
		m := newSim(t, "0 * * * *", selects)
		none := policy("b", func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{}}}
		})
		m.w.Policies = []*kopiurv1.SnapshotPolicy{policy("a"), none}
		m.until("2026-03-05T13:30:00Z")
		assert.Equal(t, []string{"2026-03-05T13:00:00Z"}, m.made)
		assert.Equal(t, schedule.Ready, m.plan.State)
		require.Len(t, m.events, 1)
		assert.Contains(t, m.events[0], "b: SnapshotPolicy b stands for nothing")
		m.w.Policies = []*kopiurv1.SnapshotPolicy{none}
		m.look()
		assert.Equal(t, kopiurv1.ReasonNoClaimsSelected, m.plan.Reason)
		m.w.Claims = []corev1.PersistentVolumeClaim{claim("x"), claim("y")}
		m.until("2026-03-05T14:30:00Z")
		assert.Equal(t, schedule.Ready, m.plan.State)
		require.Len(t, m.w.Children, 3)
		assert.Equal(t, "nightly-20260305-140000-b-x", m.w.Children[1].Name)
		assert.Equal(t, "y", m.w.Children[2].Spec.Source.Target.PVC.Name)
	})
	t.Run("too many make nothing", func(t *testing.T) {
		t.Parallel()
		m := newSim(t, "0 * * * *", selects)
		m.w.Policies = nil
		for i := range 401 {
			m.w.Policies = append(m.w.Policies, policy(fmt.Sprintf("p%03d", i)))
		}
		m.until("2026-03-05T14:30:00Z")
		assert.Empty(t, m.made)
		assert.Equal(t, kopiurv1.ReasonFanoutCapped, m.plan.Reason)
		assert.Contains(t, m.plan.Capped, "401 Snapshots")
		m.w.Policies = m.w.Policies[:400]
		m.until("2026-03-05T15:30:00Z")
		assert.Len(t, m.made, 400)
	})
}
