// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"maps"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kopiur/kopiur/controller/internal/queue"
)

// coalesceFor is how long the events of a Job and its pods are gathered: a starting pod alone makes half a dozen. It is
// part of the time between a mover's end and Ready=True (budget C8: one second).
const coalesceFor = 100 * time.Millisecond

// Coalesced wakes what a mapper names after a short rest, so that a burst of events is one reconcile.
func Coalesced(m handler.MapFunc) handler.EventHandler {
	wake := func(ctx context.Context, q waker, objs ...client.Object) {
		for _, obj := range objs {
			for _, r := range m(ctx, obj) {
				q.AddAfter(r, coalesceFor)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q waker) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q waker) { wake(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q waker) { wake(ctx, q, e.Object) },
	}
}

type waker = workqueue.TypedRateLimitingInterface[reconcile.Request]

// AskedFor lets pass what somebody wants of an object: that it was made, changed or deleted. Status, labels and finalizers,
// which are ours, do not pass.
func AskedFor() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return asks(e.ObjectOld, e.ObjectNew) }}
}

func asks(was, is client.Object) bool {
	return was.GetUID() != is.GetUID() || was.GetGeneration() != is.GetGeneration() ||
		(was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations())
}

// Afterwards wakes an object after a change of it that AskedFor does not let pass, most often a write of ours: there may be
// something left to do, once those had their turn that have not begun.
func Afterwards() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q waker) {
		if asks(e.ObjectOld, e.ObjectNew) || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() {
			return
		}
		r := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}
		if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			p.AddWithOpts(priorityqueue.AddOpts{Priority: new(queue.FollowUp)}, r)
			return
		}
		q.Add(r)
	}}
}
