// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Endpoints serve /metrics, /healthz and /readyz. They stand before leadership is asked for, so that a standby is seen to
// be alive.
type Endpoints struct {
	ready atomic.Bool
	srv   *http.Server
	addr  net.Addr
	done  chan error
}

// Serve starts to listen. It fails at once where the address is taken.
func Serve(ctx context.Context, addr string) (*Endpoints, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve metrics and health: %w", err)
	}
	e := &Endpoints{addr: l.Addr(), done: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, e.ready.Load()) })
	e.srv = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { e.done <- e.srv.Serve(l) }()
	return e, nil
}

// Ready sets the answer of /readyz.
func (e *Endpoints) Ready(yes bool) { e.ready.Store(yes) }

// Addr is where the endpoints listen.
func (e *Endpoints) Addr() net.Addr { return e.addr }

// Close ends the endpoints and waits for their end.
func (e *Endpoints) Close() error {
	_ = e.srv.Close()
	if err := <-e.done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics and health: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, ok bool) {
	if !ok {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// RegisterMemory adds the gauge of the process's resident memory, read when it is asked for.
func RegisterMemory() {
	metrics.Registry.MustRegister(residentMemory)
}

var residentMemory = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
	Name: "kopiur_process_resident_memory_bytes",
	Help: "Resident memory of the controller.",
}, func() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	return resident(string(b), os.Getpagesize())
})

// resident reads the second field of statm, in pages.
func resident(statm string, pageSize int) float64 {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(pageSize)
}
