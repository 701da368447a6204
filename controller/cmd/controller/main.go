// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller reconciles Kopiur's objects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	// The image is built from nothing: without these a certificate or a time zone would be unknown.
	_ "time/tzdata"

	"github.com/go-logr/logr"
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kopiur/kopiur/controller/internal/leader"
	"github.com/kopiur/kopiur/controller/internal/process"
	"github.com/kopiur/kopiur/controller/setup"
)

// version is set by the build.
var version = "dev"

// leaseName is the Lease of all replicas.
const leaseName = "kopiur-controller"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "controller:", err)
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
	process.RegisterMemory()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	process.Configure(cfg, version)
	endpoints, err := process.Serve(ctx, o.HTTPAddr)
	if err != nil {
		return err
	}
	defer func() {
		if err := endpoints.Close(); err != nil {
			log.Error(err, "Ending the endpoints")
		}
	}()
	// The pod's name, which no other live pod has.
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this replica: %w", err)
	}
	work := func(ctx context.Context) error { return reconcile(ctx, cfg, o, identity, endpoints) }
	if !o.LeaderElect {
		return work(ctx)
	}
	return elect(ctx, cfg, o, identity, log, endpoints, work)
}

// elect does the work while this replica leads.
func elect(ctx context.Context, cfg *rest.Config, o process.Options, identity string, log logr.Logger, endpoints *process.Endpoints, work func(context.Context) error) error {
	leases, err := leader.NewLeases(cfg, o.Namespace, leaseName)
	if err != nil {
		return err
	}
	elector, err := leader.New(leases, o.Leader, identity, clock.RealClock{}, log)
	if err != nil {
		return err
	}
	// A standby is ready: a rollout waits for it, and it waits for its predecessor.
	endpoints.Ready(true)
	return elector.Run(ctx, work)
}

// reconcile runs all reconcilers until the context ends.
func reconcile(ctx context.Context, cfg *rest.Config, o process.Options, identity string, endpoints *process.Endpoints) error {
	endpoints.Ready(false)
	opts := setup.Options{MoverImage: o.MoverImage, RcloneMoverImage: o.RcloneMoverImage, StreamImage: o.StreamImage, StreamRole: o.StreamRole, Namespace: o.Namespace, WatchNamespaces: o.WatchNamespaces, Instance: identity, ReconcileConcurrency: &o.ReconcileConcurrency, MaxConcurrentJobs: o.MaxConcurrentJobs, MaxConcurrentDeleteJobs: o.MaxDeleteJobs, CredentialProjection: o.CredentialProjection, ServerImage: o.ServerImage}
	mgr, err := ctrl.NewManager(cfg, setup.ManagerOptions(opts))
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := setup.AddToManager(mgr, opts); err != nil { //nolint:contextcheck // it waits for nothing
		return err
	}
	synced := make(chan struct{})
	go func() {
		defer close(synced)
		endpoints.Ready(mgr.GetCache().WaitForCacheSync(ctx))
	}()
	err = mgr.Start(ctx)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the reconcilers: %w", err)
	}
	<-synced
	return nil
}
