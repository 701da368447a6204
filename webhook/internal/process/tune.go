// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Tune sets the runtime's limits. What the user set in Go's own variables wins.
func Tune(o Options, log logr.Logger) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(o.WorkerThreads)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(MemoryLimit(os.DirFS("/")))
	}
	files := raiseFiles()
	log.Info("Starting", "threads", runtime.GOMAXPROCS(0), "memoryLimit", debug.SetMemoryLimit(-1), "files", files)
}

// raiseFiles lets the process open as many files as it may, and returns how many that is: every API server keeps
// connections of its own. It is never fatal.
func raiseFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	if l.Cur < l.Max {
		raised := l
		raised.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			return raised.Cur
		}
	}
	return l.Cur
}

// Configure shapes the connection to the API server. Dials end soon, because an endpoint that swallows packets would
// otherwise hold a socket for half a minute.
func Configure(cfg *rest.Config, version string) {
	cfg.QPS = -1
	cfg.UserAgent = "kopiur-webhook/" + version
	cfg.Dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}

// RegisterMetrics adds what Go and the kernel know of this process to /metrics.
func RegisterMetrics() {
	metrics.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
