// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotschedule

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var snapshotsCreated = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "kopiur_schedule_snapshots_created_total", Help: "Snapshots that schedules made.",
})

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(snapshotsCreated)
}
