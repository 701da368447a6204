// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Kopiur against its budgets and prints the table (docs/testing/benchmarks.md).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/crypto/scrypt"

	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/rows"
)

func main() {
	// Before anything else: the launcher of a program under test must stay small.
	if len(os.Args) == 3 && os.Args[1] == measure.LaunchVerb {
		if err := measure.Launch(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == rows.DeriveVerb {
		if _, err := scrypt.Key([]byte("password"), make([]byte, 32), 65536, 8, 1, 32); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
