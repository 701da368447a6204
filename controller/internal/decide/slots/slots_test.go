// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package slots_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopiur/kopiur/controller/internal/decide/slots"
)

var t0 = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

// run makes one of repository nas and policy web, minutes after t0.
func run(uid string, minute int, state slots.State, change ...func(*slots.Run)) slots.Run {
	r := slots.Run{UID: types.UID(uid), Created: t0.Add(time.Duration(minute) * time.Minute), Repository: "nas", Policy: "web", State: state}
	for _, f := range change {
		f(&r)
	}
	return r
}

func elsewhere(r *slots.Run) { r.Repository, r.Policy = "offsite", "db" }

func otherPolicy(r *slots.Run) { r.Policy = "db" }

func queue(n int) []slots.Run {
	out := []slots.Run{run("active", 0, slots.Active)}
	for i := range n {
		out = append(out, run(fmt.Sprintf("w%03d", i), i+1, slots.Queued))
	}
	return out
}

// E-9: limits per repository, policy and cluster, and a place in the queue that is told in buckets.
func TestDecideE9(t *testing.T) {
	t.Parallel()
	me := run("me", 1000, slots.Queued)
	for name, tc := range map[string]struct {
		others []slots.Run
		limits slots.Limits
		want   bool
		state  slots.State
		says   string
	}{
		"without limits everybody starts": {queue(5), slots.Limits{}, true, 0, ""},
		"a free slot":                     {[]slots.Run{run("a", 0, slots.Active)}, slots.Limits{Repository: 2}, true, 0, ""},
		"no free slot: next":              {queue(0), slots.Limits{Repository: 1}, false, slots.Queued, "Repository nas allows 1 at a time (concurrency.maxConcurrentJobs); this one is next"},
		"behind a few":                    {queue(9), slots.Limits{Repository: 1}, false, slots.Queued, "fewer than 10 are before"},
		"behind some":                     {queue(10), slots.Limits{Repository: 1}, false, slots.Queued, "fewer than 100 are before"},
		"behind many":                     {queue(100), slots.Limits{Repository: 1}, false, slots.Queued, "100 or more are before"},
		"a free slot belongs to who waited longer":             {[]slots.Run{run("w", 1, slots.Queued)}, slots.Limits{Repository: 1}, false, slots.Queued, "fewer than 10"},
		"one that came later waits its turn":                   {[]slots.Run{run("w", 2000, slots.Queued)}, slots.Limits{Repository: 1}, true, 0, ""},
		"another repository's runs do not matter":              {[]slots.Run{run("a", 0, slots.Active, elsewhere), run("w", 0, slots.Queued, elsewhere)}, slots.Limits{Repository: 1}, true, 0, ""},
		"they do for the cluster":                              {[]slots.Run{run("a", 0, slots.Active, elsewhere)}, slots.Limits{Cluster: 1}, false, slots.Queued, "in the whole cluster"},
		"a queue elsewhere does not hold up a free cluster":    {[]slots.Run{run("w", 0, slots.Queued, elsewhere)}, slots.Limits{Cluster: 1}, true, 0, ""},
		"the policy's own limit":                               {[]slots.Run{run("a", 0, slots.Active)}, slots.Limits{Policy: 1, Repository: 5}, false, slots.Parked, "SnapshotPolicy web allows 1 at a time (upload.maxParallelSnapshots)"},
		"another policy's runs do not matter for it":           {[]slots.Run{run("a", 0, slots.Active, otherPolicy)}, slots.Limits{Policy: 1}, true, 0, ""},
		"one parked by its policy stands in nobody else's way": {[]slots.Run{run("p", 0, slots.Parked, otherPolicy)}, slots.Limits{Repository: 1}, true, 0, ""},
		"this one itself does not count":                       {[]slots.Run{run("me", 1000, slots.Active)}, slots.Limits{Repository: 1, Cluster: 1, Policy: 1}, true, 0, ""},
		"of two that are equally old the UID decides":          {[]slots.Run{run("a", 1000, slots.Queued)}, slots.Limits{Repository: 1}, false, slots.Queued, "fewer than 10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := slots.Decide(me, tc.others, tc.limits, "Repository nas", "SnapshotPolicy web")
			assert.Equal(t, tc.want, got.Admitted)
			assert.Equal(t, tc.state, got.State)
			assert.Contains(t, got.Message, tc.says)
		})
	}
}

// E-9: the end of one run wakes a handful, however many wait.
func TestWakeIsFewE9(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []types.UID{"w000", "w001", "w002", "w009", "w099"}, slots.Wake(queue(1000)))
	assert.Equal(t, []types.UID{"p", "w000"}, slots.Wake(append(queue(1), run("p", 0, slots.Parked))))
	assert.Empty(t, slots.Wake(nil))
}
