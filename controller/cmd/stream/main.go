// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command stream runs a command in a pod of the application for the mover beside it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	// The image is built from nothing: without these a certificate would be unknown.
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/client-go/rest"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/stream"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	command, err := work.DecodeStreamCommand(os.Getenv(work.EnvStream))
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "kopiur-stream/" + version
	exec, err := stream.NewExec(config, command)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(command.DeadlineSeconds)*time.Second)
	defer cancel()
	conn, err := stream.Dial(ctx, work.StreamSocket)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	defer conn.Close()
	last, err := stream.Converse(ctx, conn, exec, time.Duration(command.TimeoutSeconds)*time.Second)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	// Whatever became of it stands in the mover's result; this container has done its part.
	fmt.Fprintf(os.Stderr, "stream: the mover ended with %s %s\n", last.Code, last.Message)
	return nil
}
