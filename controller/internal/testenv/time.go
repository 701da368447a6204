// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kopiur/kopiur/controller/setup"
)

// clockTick is how often the clock of a test follows the real one.
const clockTick = 10 * time.Millisecond

// Time is a clock that runs like the real one and can jump ahead: for what controllers decide, and for how long their
// objects rest. The API server's own timestamps stay real.
type Time struct {
	*testclock.FakeClock
}

// NewTime starts such a clock.
func (e *Env) NewTime() *Time {
	t := &Time{testclock.NewFakeClock(time.Now())} //nolint:forbidigo // it starts together with the real one
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(clockTick)
		defer tick.Stop()
		last := time.Now() //nolint:forbidigo // the machine may be too busy for every tick
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				t.Step(max(now.Sub(last), 0))
				last = now
			}
		}
	}()
	e.T.Cleanup(func() {
		close(stop)
		<-done
	})
	return t
}

// Decisions makes a controller decide and rest by this clock, and read the API server's timestamps by the real one.
func (t *Time) Decisions(o *setup.Options) {
	o.Clock = t
	o.NewQueue = func(name string, rl workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return &punctual{
			TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(rl, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, Clock: t}),
			clock:                      t, began: map[reconcile.Request]time.Time{},
		}
	}
}

// punctual is a queue whose rests count from the beginning of the reconcile that asked for them. A reconcile looks at the
// clock once, and a test that moves it before the rest has begun would put the next turn off by as much.
type punctual struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	clock *Time
	mu    sync.Mutex
	began map[reconcile.Request]time.Time
}

// Get remembers when a reconcile begins.
func (q *punctual) Get() (reconcile.Request, bool) {
	r, down := q.TypedRateLimitingInterface.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began[r] = q.clock.Now()
	return r, down
}

// Done forgets it.
func (q *punctual) Done(r reconcile.Request) {
	q.mu.Lock()
	delete(q.began, r)
	q.mu.Unlock()
	q.TypedRateLimitingInterface.Done(r)
}

// AddAfter takes off what has passed since.
func (q *punctual) AddAfter(r reconcile.Request, d time.Duration) {
	q.mu.Lock()
	if began, ok := q.began[r]; ok {
		d -= q.clock.Now().Sub(began)
	}
	q.mu.Unlock()
	q.TypedRateLimitingInterface.AddAfter(r, d)
}

// OnlyWatches makes a controller rest an hour where it would look again by itself after more than a second: what heals
// then was healed by a watch.
func OnlyWatches(o *setup.Options) {
	o.NewQueue = func(name string, rl workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return patient{workqueue.NewTypedRateLimitingQueueWithConfig(rl, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})}
	}
}

// patient is a queue that never looks again of itself.
type patient struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// AddAfter lets pass what only gathers events.
func (q patient) AddAfter(r reconcile.Request, d time.Duration) {
	if d > time.Second {
		d = time.Hour
	}
	q.TypedRateLimitingInterface.AddAfter(r, d)
}

// Everything makes a controller read also the API server's timestamps by this clock: a jump ahead makes all objects
// older.
func (t *Time) Everything(o *setup.Options) {
	t.Decisions(o)
	o.ServerClock = t
}
