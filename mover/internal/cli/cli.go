// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the mover's command line: wiring only. The work is in package op, what leaves the process in term.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Process is what main gives: the outside world, so that tests can give another one.
type Process struct {
	Args           []string
	Version        string
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	Clock          engine.Clock
	// Signals delivers SIGTERM and SIGINT.
	Signals <-chan os.Signal
	// Exit ends the process at once; only the watchdog uses it.
	Exit func(code int)
}

// exitError carries an exit code through cobra.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs one command and returns its exit code.
func Main(ctx context.Context, p Process) int {
	root := &cobra.Command{
		Use:           "mover",
		Short:         "Kopiur's mover: one unit of work on a kopia repository",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.AddCommand(newRunCmd(p), newBrowseCmd(p), newVersionCmd(p))
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return work.ExitOK
	case errors.As(err, &code):
		return int(code)
	default:
		_, _ = fmt.Fprintln(p.Stderr, "mover:", err)
		return work.ExitPermanent
	}
}

func newVersionCmd(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the mover and of kopia", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.Stdout, "mover %s (kopia %s, protocol %s, %s)\n", p.Version, kopiaVersion(), work.APIVersion, runtime.Version())
			return err //nolint:wrapcheck // standard output is gone
		},
	}
}

func kopiaVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/kopia/kopia" {
				return m.Version
			}
		}
	}
	return "unknown"
}
