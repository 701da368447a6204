// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster brings a real Kubernetes up and down for tests and for a developer's own use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/kopiur/kopiur/e2e/cluster"
)

// Exit codes beyond 0 and 1. A script that finds exitNotPossible leaves out what needs a kubelet.
const exitNotPossible = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	var inner *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &inner) && isExec(err):
		return inner.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	if errors.Is(err, cluster.ErrNotRoot) {
		return exitNotPossible
	}
	return 1
}
