// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command ui serves kopia's web interface for one repository. It is a program of its own because it needs kopia's
// command line package, which drags in every backend and half a server: the mover stays small without it.
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
)

// version is set by the linker.
var version = "dev"

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	os.Exit(run(context.Background(), process{
		Args: os.Args[1:], Version: version, Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr, Clock: time.Now, Signals: signals,
	}))
}
