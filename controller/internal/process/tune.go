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
	"k8s.io/client-go/rest"
)

const (
	// dialTimeout bounds a connect: an endpoint that swallows packets would otherwise hold a socket for half a minute, and
	// with many reconciles the process runs out of them (acceptance E-8).
	dialTimeout   = 5 * time.Second
	dialKeepAlive = 30 * time.Second
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
	for _, env := range o.Ignored {
		log.Info("Ignoring a variable that has no meaning here", "variable", env, "reason", "movers have no token and no role")
	}
}

// raiseFiles lets the process open as many files as it may, and returns how many that is. It is a defence in depth and
// never fatal.
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

// Configure shapes the connection to the API server. Its own throttle is off: concurrency bounds the requests, and
// priority and fairness on the server do the rest.
func Configure(cfg *rest.Config, version string) {
	cfg.QPS = -1
	cfg.UserAgent = "kopiur-controller/" + version
	cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive}).DialContext
}
