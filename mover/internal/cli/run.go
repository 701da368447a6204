// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/limits"
	"github.com/kopiur/kopiur/mover/internal/op/bootstrap"
	deleteop "github.com/kopiur/kopiur/mover/internal/op/delete"
	"github.com/kopiur/kopiur/mover/internal/op/maintain"
	"github.com/kopiur/kopiur/mover/internal/op/pin"
	"github.com/kopiur/kopiur/mover/internal/op/resolve"
	"github.com/kopiur/kopiur/mover/internal/op/restore"
	"github.com/kopiur/kopiur/mover/internal/op/snapshot"
	"github.com/kopiur/kopiur/mover/internal/op/verify"
)

// umask lets the group of a shared filesystem repository in, and nobody else.
const umask = 0o007

// runOptions are the paths of one run. A pod uses the defaults, which are the protocol's; people and tests do not.
type runOptions struct {
	dirs            backend.Dirs
	source          string
	destination     string
	streamSocket    string
	browseSocket    string
	cacheDir        string
	workDir         string
	terminationPath string
}

func newRunCmd(p Process) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use: "run", Short: "Do the work described in " + work.EnvSpec, Args: cobra.NoArgs,
		Long: "Run reads one work spec from the environment variable " + work.EnvSpec + ", does it, writes the result to the\n" +
			"termination message and exits with 0 (done), 10 (may succeed later) or 20 (needs a change).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code := o.run(cmd.Context(), p); code != work.ExitOK {
				return exitError(code)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dirs.Password, "password-dir", work.PasswordDir, "folder of the repository password's Secret")
	f.StringVar(&o.dirs.Auth, "auth-dir", work.AuthDir, "folder of the credential Secret")
	f.StringVar(&o.dirs.CA, "ca-dir", work.CADir, "folder of the CA bundle")
	f.StringVar(&o.source, "source-dir", work.SourceSecretsDir, "folder of the source's Secrets, in an operation with two repositories")
	f.StringVar(&o.destination, "destination-dir", work.DestinationSecretsDir, "folder of the destination's Secrets")
	f.StringVar(&o.streamSocket, "stream-socket", work.StreamSocket, "socket for the helper that runs a command")
	f.StringVar(&o.browseSocket, "browse-socket", work.BrowseSocket, "socket of a browse session")
	f.StringVar(&o.cacheDir, "cache-dir", work.CacheDir, "folder of kopia's cache; without it nothing is cached")
	f.StringVar(&o.workDir, "work-dir", work.WorkDir, "folder in memory for the connection file")
	f.StringVar(&o.terminationPath, "termination-log", work.TerminationPath, "file for the result")
	return cmd
}

func (o *runOptions) run(ctx context.Context, p Process) int {
	syscall.Umask(umask)
	memory := limits.Memory(os.DirFS("/"))
	if p.Getenv("GOMEMLIMIT") == "" {
		if n := limits.GoMemory(memory); n > 0 {
			debug.SetMemoryLimit(n)
		}
	}
	x := newExecution(p, *o, limits.Parallel(runtime.GOMAXPROCS(0), memory))
	x.inFlight = limits.InFlight(memory)
	spec, err := work.DecodeSpec(p.Getenv(work.EnvSpec))
	if err != nil {
		return x.fail("", fmt.Errorf("%w: %w", backend.ErrInvalidSpec, err))
	}
	x.log("info", "Loaded the work spec: "+spec.Operation.Name()+" on "+spec.Repository.Name)
	switch w := spec.Operation; {
	case w.Bootstrap != nil:
		return execute(ctx, x, spec, bootstrap.Run, func(r *work.Result, b *work.BootstrapResult) { r.Bootstrap = b })
	case w.Snapshot != nil:
		return execute(ctx, x, spec, snapshot.Run, func(r *work.Result, s *work.SnapshotResult) { r.Snapshot = s })
	case w.Resolve != nil:
		return execute(ctx, x, spec, resolve.Run, func(r *work.Result, s *work.ResolveResult) { r.Resolve = s })
	case w.Restore != nil:
		return execute(ctx, x, spec, restore.Run, func(r *work.Result, s *work.RestoreResult) { r.Restore = s })
	case w.Delete != nil:
		return execute(ctx, x, spec, deleteop.Run, func(r *work.Result, d *work.DeleteResult) { r.Delete = d })
	case w.Maintain != nil:
		return execute(ctx, x, spec, maintain.Run, func(r *work.Result, m *work.MaintainResult) { r.Maintain = m })
	case w.Verify != nil:
		return execute(ctx, x, spec, verify.Run, func(r *work.Result, v *work.VerifyResult) { r.Verify = v })
	case w.Pin != nil:
		return execute(ctx, x, spec, pin.Run, func(r *work.Result, d *work.PinResult) { r.Pin = d })
	default:
		return copies(ctx, x, spec)
	}
}
