// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mover does one unit of work on a kopia repository and reports it. It does not speak Kubernetes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	// The image is built from nothing: without these a certificate or a time zone would be unknown.
	_ "time/tzdata"

	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/kopiur/kopiur/mover/internal/cli"
	"github.com/kopiur/kopiur/mover/internal/limits"
)

// version is set by the linker.
var version = "dev"

func main() {
	limits.Confine()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args: os.Args[1:], Version: version, Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr,
		Clock: time.Now, Signals: signals, Exit: os.Exit,
	}))
}
