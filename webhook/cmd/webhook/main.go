// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook admits Kopiur's objects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	// The image is built from nothing: without this every time zone would be refused.
	_ "time/tzdata"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/kopiur/kopiur/webhook/internal/admission"
	"github.com/kopiur/kopiur/webhook/internal/certs"
	"github.com/kopiur/kopiur/webhook/internal/process"
	"github.com/kopiur/kopiur/webhook/internal/service"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o, err := process.Parse(os.Args[1:], os.Getenv, os.Stderr)
	if err != nil {
		return err
	}
	log, err := process.Logger(o, os.Stderr)
	if err != nil {
		return err
	}
	process.Tune(o, log.WithValues("version", version))
	process.RegisterMetrics()
	admission.Register()
	certs.Register()
	cfg, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	process.Configure(cfg, version)
	return service.Run(ctx, service.Options{
		Options: o, Config: cfg, Clock: clock.RealClock{}, Rules: admission.Standard(),
	}, log)
}
