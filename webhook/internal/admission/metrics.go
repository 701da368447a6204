// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Decisions, as the metric counts them.
const (
	decisionAllowed = "allowed"
	decisionDenied  = "denied"
	decisionMutated = "mutated"
	decisionErrored = "errored"
)

var admissions = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "kopiur_webhook_admission_total",
	Help: "Admission requests by kind and by decision: allowed, denied, mutated or errored.",
}, []string{"kind", "decision"})

// Register adds the metrics to /metrics.
func Register() { metrics.Registry.MustRegister(admissions) }

func count(kind, decision string) { admissions.WithLabelValues(kind, decision).Inc() }
