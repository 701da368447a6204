// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ReplicationRuns counts the runs of both kinds of replications that are over.
var ReplicationRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "kopiur_replication_runs_total",
	Help: "Runs of replications that are over.",
}, []string{"kind", "trigger", "outcome"})

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(ReplicationRuns)
}
