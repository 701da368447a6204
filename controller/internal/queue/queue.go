// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// FollowUp is the priority of what gives way. controller-runtime marks what it lists at the beginning with one of its own,
// which is below it as well.
const FollowUp = -1

// New makes the work queue of one controller.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return newQueue(name, limiter, clock.RealClock{})
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], c clock.WithTicker) *queue {
	o := newOrder[reconcile.Request](c)
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Clock: c, Queue: o})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Clock: c, Queue: inner})
	return &queue{order: o, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{DelayingQueue: delaying})}
}

// queue is a workqueue with an order of its own. It is a PriorityQueue so that handlers can say what they add.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	order *order[reconcile.Request]
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// AddWithOpts adds items; what has a delay is a follow-up.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		switch {
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		case o.Priority != nil && *o.Priority < 0:
			q.TypedRateLimitingInterface.Add(item)
		default:
			q.Add(item)
		}
	}
}

// Add adds what is asked for.
func (q *queue) Add(item reconcile.Request) {
	q.order.ask(item)
	q.TypedRateLimitingInterface.Add(item)
}

// GetWithPriority gives out the most urgent item, and none once the process ends. The priority is that of looking again
// later, which is a follow-up of this look.
func (q *queue) GetWithPriority() (reconcile.Request, int, bool) {
	item, down := q.Get()
	return item, FollowUp, down
}

// Get is GetWithPriority without the priority.
func (q *queue) Get() (reconcile.Request, bool) {
	item, down := q.TypedRateLimitingInterface.Get()
	if !down && q.ShuttingDown() {
		q.Done(item) // what is left is for the process after this one
		return item, true
	}
	return item, down
}
