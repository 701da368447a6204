// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// E-9: never more movers at a time than the repository allows, whatever comes at the same moment; all get their turn, and
// those that wait are not rewritten for every one that ends.
func TestARepositoryHasSlotsE9(t *testing.T) {
	t.Parallel()
	const runs = 14
	l := newLab(t)
	l.repository.Spec.Concurrency = &kopiurv1.ConcurrencySpec{MaxConcurrentJobs: 2}
	var at, most atomic.Int32
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		n := at.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		p := testenv.Succeed(c)
		hold := make(chan struct{})
		time.AfterFunc(150*time.Millisecond, func() { at.Add(-1); close(hold) })
		p.Hold = hold
		return p
	})
	l.base()
	l.Create(l.source)
	l.StartController()
	l.ready()
	var all []*kopiurv1.Snapshot
	for i := range runs {
		s := l.snapshot.DeepCopy()
		s.Name = fmt.Sprintf("run-%02d", i)
		l.Create(s)
		all = append(all, s)
	}
	waited := map[string]bool{}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		done := 0
		for _, s := range all {
			l.GetC(c, s)
			if s.Status.Phase == kopiurv1.SnapshotSucceeded {
				done++
				assert.Empty(c, condition(s, kopiurv1.ConditionRepositorySlotAvailable).Type, "the slot was given back")
			}
			if slot := condition(s, kopiurv1.ConditionRepositorySlotAvailable); slot.Reason == kopiurv1.ReasonWaitingForSlot {
				waited[slot.Message] = true
			}
		}
		assert.Equal(c, runs, done)
	}, 2*testenv.Wait, testenv.Tick)
	assert.LessOrEqual(t, most.Load(), int32(2), "never more than two at a time")
	assert.LessOrEqual(t, len(waited), 3, "places in the queue are told in buckets: %v", waited)
	assert.NotEmpty(t, waited)
	for _, s := range all {
		var stored kopiurv1.Snapshot
		require.NoError(t, l.Client.Get(t.Context(), client.ObjectKeyFromObject(s), &stored))
		assert.Len(t, l.runs(), runs)
	}
}

// E-9: the limits of a policy and of the whole cluster, and a restore that is admitted and counted is a matter of counting
// Jobs: one that is suspended by a queueing controller does not.
func TestOtherLimitsE9(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(l *lab, o *setup.Options){
		"of a policy":    func(l *lab, _ *setup.Options) { l.policy.Spec.Upload = &kopiurv1.Upload{MaxParallelSnapshots: 1} },
		"of the cluster": func(_ *lab, o *setup.Options) { o.MaxConcurrentJobs = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var opts setup.Options
			limit(l, &opts)
			release := make(chan struct{})
			l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
				p := testenv.Succeed(c)
				if n == 1 {
					p.Hold = release
				}
				return p
			})
			l.create()
			l.StartController(func(o *setup.Options) { o.MaxConcurrentJobs = opts.MaxConcurrentJobs })
			l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMoverRunning)
			first := l.snapshot
			l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: *first.Spec.DeepCopy()}
			l.Create(l.snapshot)
			c := l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSlot)
			assert.Contains(t, c.Message, "this one is next")
			l.atRest()
			assert.Len(t, l.runs(), 1)
			close(release)
			l.succeeds()
		})
	}
}
