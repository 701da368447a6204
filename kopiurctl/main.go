// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kopiurctl is Kopiur's command line. As kubectl-kopiur in PATH it is a plugin: kubectl kopiur status.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(int(run())) }

func run() cli.Code {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := &cli.Env{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Clock:     clock.RealClock{},
		Version:   version,
		Attended:  terminal(os.Stdin) && terminal(os.Stderr),
	}
	if terminal(os.Stderr) {
		env.Width = func() int {
			if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
				return w
			}
			return 80
		}
	}
	return cmd.Run(ctx, env, filepath.Base(os.Args[0]), os.Args[1:])
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
