// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Causes of an event that was dropped.
const (
	dropTransport = "transport"
	dropSaturated = "saturated"
	dropTimeout   = "timeout"
)

var (
	reconciliations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_controller_reconciliations_total",
		Help: "Reconciles by kind.",
	}, []string{"kind"})
	reconcileErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_controller_reconcile_errors_total",
		Help: "Reconciles that ended in an error, by kind and class: transient, structural, terminal.",
	}, []string{"kind", "class"})
	//nolint:promlinter // dashboards know it by this name, from before counters ended in _total
	failureEventsDropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_controller_failure_events_dropped",
		Help: "Events that were not published, by cause: transport, saturated, timeout.",
	}, []string{"cause"})
)

// The registry is the one that the manager serves, and belongs to the process, as do these counters.
func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	metrics.Registry.MustRegister(reconciliations, reconcileErrors, failureEventsDropped)
}
