// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deps is what reconcilers are made from.
package deps

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/queue"
	"github.com/kopiur/kopiur/controller/internal/volumegroup"
)

// DefaultConcurrency is how many objects of one kind are reconciled at a time. It bounds requests and sockets after a
// restart, whatever the size of the cluster (acceptance E-8).
const DefaultConcurrency = 8

// reconcileTimeout bounds one reconcile. It is a net: every request has a shorter bound of its own.
const reconcileTimeout = 2 * time.Minute

// unbounded stands for a concurrency of 0.
const unbounded = 256

// Queue makes the work queue of one controller; tests inject one with a clock of their own.
type Queue = func(name string, rl workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// Deps is shared by all reconcilers of a process.
type Deps struct {
	// Env has the client, which reads from the cache, the clock and the event sink.
	loop.Env
	// ServerClock is what the API server's timestamps are compared with. It differs from Clock only in tests that move
	// the one and cannot move the other.
	ServerClock clock.PassiveClock
	// Live reads past the cache: foreign objects, and consent.
	Live client.Reader
	// Groups are the VolumeGroupSnapshots.
	Groups *volumegroup.API
	// Logs reads what movers print.
	Logs moverjob.LogReader
	// MoverImage and PullPolicy of mover pods.
	MoverImage moverjob.Images
	PullPolicy corev1.PullPolicy
	// ServerImage serves the web UIs of repositories; without one there are none.
	ServerImage string
	// OperatorNamespace is where the operator runs.
	OperatorNamespace string
	// WatchNamespaces limits what is watched; all where it is empty.
	WatchNamespaces []string
	// StreamRole is the ClusterRole that helpers of streams are bound to.
	StreamRole string
	// Projection: credentials of ClusterRepositories may be copied.
	Projection bool
	// MaxConcurrentJobs is how many runs may use repositories at a time in the whole cluster; 0 is no limit.
	MaxConcurrentJobs int
	// Concurrency of each controller; 0 is unbounded, below 0 the default.
	Concurrency int
	// MaxDeleteJobs over all repositories; 0 is without limit.
	MaxDeleteJobs int
	// NewQueue makes the queues where the usual one will not do.
	NewQueue Queue
	// SkipNameValidation lets tests run several managers in one process.
	SkipNameValidation bool
}

// ControllerOptions are the same for every controller.
func (d Deps) ControllerOptions() controller.Options {
	n := d.Concurrency
	switch {
	case n < 0:
		n = DefaultConcurrency
	case n == 0:
		n = unbounded
	}
	newQueue := d.NewQueue
	if newQueue == nil {
		newQueue = queue.New
	}
	return controller.Options{
		MaxConcurrentReconciles: n,
		// A reconciler never returns an error and so never meets the limiter, except after a panic.
		RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
		NewQueue:           newQueue,
		SkipNameValidation: &d.SkipNameValidation,
		NeedLeaderElection: new(true),
		// A request that never ends must not hold one of the few places for ever.
		ReconciliationTimeout: reconcileTimeout,
	}
}
