// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/op/browse"
	"github.com/kopiur/kopiur/mover/internal/op/migrate"
	"github.com/kopiur/kopiur/mover/internal/op/replicate"
	"github.com/kopiur/kopiur/mover/internal/op/seed"
	"github.com/kopiur/kopiur/mover/internal/op/stream"
)

// copies runs the operations with two repositories, or with somebody at the other end of a socket.
func copies(ctx context.Context, x *execution, spec work.Spec) int {
	switch w := spec.Operation; {
	case w.Replicate != nil:
		return execute(ctx, x, spec, replicate.Run, func(r *work.Result, s *work.ReplicateResult) { r.Replicate = s })
	case w.Migrate != nil:
		return execute(ctx, x, spec, migrate.Run, func(r *work.Result, s *work.MigrateResult) { r.Migrate = s })
	case w.Seed != nil:
		return execute(ctx, x, spec, seed.Run, func(r *work.Result, s *work.SeedResult) { r.Seed = s })
	case w.Browse != nil:
		return execute(ctx, x, spec, browse.Run, func(r *work.Result, s *work.BrowseResult) { r.Browse = s })
	case w.StreamSnapshot != nil:
		return execute(ctx, x, spec, stream.Snapshot, func(r *work.Result, s *work.SnapshotResult) { r.Snapshot = s })
	case w.StreamRestore != nil:
		return execute(ctx, x, spec, stream.Restore, func(r *work.Result, s *work.StreamRestoreResult) { r.StreamRestore = s })
	case w.UI != nil:
		return x.fail(w.Name(), fmt.Errorf("%w: the web interface is served by the program ui, not by the mover", backend.ErrInvalidSpec))
	default:
		return x.fail(w.Name(), fmt.Errorf("%w: this mover does not know operation %q", backend.ErrInvalidSpec, w.Name()))
	}
}
