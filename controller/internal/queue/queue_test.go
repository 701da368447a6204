// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var begin = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: name}}
}

// add is one event at a time after the beginning.
type add struct {
	at    time.Duration
	name  string
	asked bool
}

func TestWhoIsNext(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tc := range map[string]struct {
		adds []add
		want []string
	}{
		"what is asked for is taken in the order of its arrival": {
			[]add{{0, "a", true}, {second, "b", true}, {2 * second, "c", true}}, []string{"a", "b", "c"},
		},
		"follow-ups are taken in the order of their arrival": {
			[]add{{0, "a", false}, {second, "b", false}, {2 * second, "c", false}}, []string{"a", "b", "c"},
		},
		"a start stands before the follow-ups of what was started before": {
			[]add{{0, "a", false}, {0, "b", false}, {second, "new", true}}, []string{"new", "a", "b"},
		},
		"a follow-up that has waited long enough stands before what is asked for afterwards": {
			[]add{{0, "old", false}, {Patience - 1, "early", true}, {Patience + 1, "late", true}}, []string{"early", "old", "late"},
		},
		"of two that are due at the same moment the first is first": {
			[]add{{0, "follow-up", false}, {Patience, "start", true}}, []string{"follow-up", "start"},
		},
		"one that is asked for while its follow-up waits moves up": {
			[]add{{0, "a", false}, {0, "b", false}, {second, "b", true}}, []string{"b", "a"},
		},
		"a follow-up of one that is asked for takes nothing away from it": {
			[]add{{0, "a", true}, {second, "b", true}, {2 * second, "a", false}}, []string{"a", "b"},
		},
		"a second follow-up does not put off the first": {
			[]add{{0, "a", false}, {Patience - 1, "a", false}, {Patience + 1, "b", true}}, []string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testclock.NewFakeClock(begin)
			q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), clock)
			defer q.ShutDown()
			for _, a := range tc.adds {
				clock.SetTime(begin.Add(a.at))
				o := priorityqueue.AddOpts{}
				if !a.asked {
					o.Priority = new(FollowUp)
				}
				q.AddWithOpts(o, named(a.name))
			}
			var got []string
			for q.Len() > 0 {
				r, priority, down := q.GetWithPriority()
				require.False(t, down)
				assert.Equal(t, FollowUp, priority, "to look again is a follow-up")
				got = append(got, r.Name)
				q.Done(r)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// TestNothingStarves: however much is asked for, a follow-up has its turn once it has given way long enough.
func TestNothingStarves(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(begin)
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), clock)
	defer q.ShutDown()
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(FollowUp)}, named("result"))
	// Each second two are asked for and one is taken: the crowd only grows.
	for i := range 60 {
		q.Add(named(fmt.Sprintf("start-%d", 2*i)))
		q.Add(named(fmt.Sprintf("start-%d", 2*i+1)))
		r, _ := q.Get()
		q.Done(r)
		if r.Name == "result" {
			// Those that came in its patience are before it: two a second, and each took one.
			assert.LessOrEqual(t, i, 2*int(Patience/time.Second)+2)
			return
		}
		clock.Step(time.Second)
	}
	assert.Fail(t, "the follow-up was never looked at")
}

// TestWhatComesByTimeIsAFollowUp: also where nobody says so.
func TestWhatComesByTimeIsAFollowUp(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(begin)
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), clock)
	defer q.ShutDown()
	q.AddWithOpts(priorityqueue.AddOpts{After: time.Second}, named("poll"))
	clock.Step(time.Second)
	require.Eventually(t, func() bool { return q.Len() == 1 }, 10*time.Second, time.Millisecond)
	clock.Step(time.Second)
	q.Add(named("start"))
	r, _ := q.Get()
	assert.Equal(t, "start", r.Name)
}

// TestItIsLookedAtAgain: one that is asked for while it is looked at has another turn, before the follow-ups.
func TestItIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), testclock.NewFakeClock(begin))
	defer q.ShutDown()
	q.Add(named("a"))
	r, _ := q.Get()
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(FollowUp)}, named("b"))
	q.Add(named("a"))
	assert.Equal(t, 1, q.Len(), "not beside itself")
	q.Done(r)
	r, _ = q.Get()
	assert.Equal(t, "a", r.Name)
}

// TestTheEndIsAtOnce: a process that ends begins nothing.
func TestTheEndIsAtOnce(t *testing.T) {
	t.Parallel()
	q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), testclock.NewFakeClock(begin))
	q.Add(named("a"))
	q.ShutDown()
	_, down := q.Get()
	assert.True(t, down)
}
