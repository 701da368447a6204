// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Health serves /metrics, /healthz and /readyz. ready answers "", or what is missing.
func Health(ready func() string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, ready()) })
	return mux
}

func answer(w http.ResponseWriter, missing string) {
	if missing != "" {
		http.Error(w, missing, http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
