// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// coalesceFor is how long the events of a Job and its pods are gathered: a starting pod alone makes half a dozen. It is
// part of the time between a mover's end and Ready=True (budget C8: one second).
const coalesceFor = 100 * time.Millisecond

// Coalesced wakes what a mapper names after a short rest, so that a burst of events is one reconcile.
func Coalesced(m handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(ctx context.Context, q queue, objs ...client.Object) {
		for _, obj := range objs {
			for _, r := range m(ctx, obj) {
				q.AddAfter(r, coalesceFor)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
	}
}
