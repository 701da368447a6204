// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var notAfter = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "kopiur_webhook_certificate_not_after_timestamp_seconds",
	Help: "When the certificate that is served ends, in seconds since 1970; 0 while there is none.",
})

// Register adds the metrics to /metrics.
func Register() { metrics.Registry.MustRegister(notAfter) }
