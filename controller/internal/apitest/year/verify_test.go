// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package year_test

import (
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// proof is one verification of a policy by its schedule, and what should have become of it.
type proof struct {
	tier kopiurv1.VerificationTier
	text string
	cron schedule.Cron
	// pin is the next turn, and done are those that were to be made.
	pin  time.Time
	done []string
}

// movers counts the movers of each verification by their Jobs, which are named after their turns.
type movers struct {
	mu   sync.Mutex
	jobs map[kopiurv1.VerificationTier]map[string]int
}

func (m *movers) add(c testenv.Call) {
	v := c.Spec.Operation.Verify
	if v == nil {
		return
	}
	tier := kopiurv1.VerificationQuick
	if v.Deep != nil {
		tier = kopiurv1.VerificationDeep
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = map[kopiurv1.VerificationTier]map[string]int{}
	}
	if m.jobs[tier] == nil {
		m.jobs[tier] = map[string]int{}
	}
	m.jobs[tier][c.Job]++
}

func (y *year) proof(l *line, p *proof) {
	y.t.Helper()
	var err error
	p.cron, err = schedule.Parse(p.text, y.Namespace+"/"+l.policy.Name)
	require.NoError(y.t, err)
	p.pin = p.cron.Next(y.time.Now(), time.UTC)
	spec := kopiurv1.CronSpec{Cron: p.text}
	if p.tier == kopiurv1.VerificationDeep {
		l.policy.Spec.Verification.Deep = &kopiurv1.DeepVerification{Schedule: spec, Capacity: "1Gi"}
	} else {
		l.policy.Spec.Verification.Quick = &kopiurv1.QuickVerification{Schedule: &spec}
	}
	l.proofs = append(l.proofs, p)
}

// proven waits until every verification whose time has come has been made. Before the first backup there is none (I-5), and
// after an outage one for all that were missed, of the first of these times.
func (y *year) proven() {
	y.t.Helper()
	for _, l := range y.lines {
		for _, p := range l.proofs {
			now := y.time.Now()
			if len(l.kept) == 0 || p.pin.After(now) {
				continue
			}
			p.done = append(p.done, p.pin.UTC().Format(time.RFC3339))
			p.pin = p.cron.Next(now, time.UTC)
		}
	}
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		for _, l := range y.lines {
			require.NoError(c, y.eyes.Get(y.t.Context(), client.ObjectKeyFromObject(l.policy), l.policy))
			for _, p := range l.proofs {
				y.provenOf(c, l, p)
			}
		}
		y.hurry()
	}, testenv.Wait, 20*time.Millisecond)
}

func (y *year) provenOf(c *assert.CollectT, l *line, p *proof) {
	last := ""
	if n := len(p.done); n > 0 {
		last = p.done[n-1]
	}
	i := slices.IndexFunc(l.policy.Status.VerificationRuns, func(r kopiurv1.VerificationRun) bool { return r.Tier == p.tier })
	if !assert.GreaterOrEqual(c, i, 0, "%s has a line for %s", l.policy.Name, p.tier) {
		return
	}
	r := l.policy.Status.VerificationRuns[i]
	assert.Equal(c, last, r.LastHandledAt, "%s %s is pinned to %s: %s", l.policy.Name, p.tier, r.NextScheduledAt, r.Message)
	assert.Equal(c, p.pin.UTC().Format(time.RFC3339), r.NextScheduledAt, "%s %s", l.policy.Name, p.tier)
	assert.Zero(c, r.ConsecutiveFailures)
	if last != "" {
		assert.Equal(c, kopiurv1.VerificationSucceeded, r.Outcome)
	}
}

// verified counts the verifications, and sees that each was one mover.
func (y *year) verified() int {
	y.t.Helper()
	want := map[kopiurv1.VerificationTier]int{}
	for _, l := range y.lines {
		for _, p := range l.proofs {
			want[p.tier] += len(p.done)
		}
	}
	n := 0
	y.movers.mu.Lock()
	defer y.movers.mu.Unlock()
	for tier, jobs := range y.movers.jobs {
		assert.Len(y.t, jobs, want[tier], "%s: each turn once, and no other", tier)
		for job, times := range jobs {
			assert.Equal(y.t, 1, times, "%s ran once", job)
		}
		n += len(jobs)
	}
	assert.Len(y.t, y.movers.jobs, len(want))
	return n
}
