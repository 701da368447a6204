// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Find is the snapshot with an id, or where pinning has changed that, the one of the same identity and start (K-3).
func Find(ctx context.Context, r *engine.Repository, id string, identity work.Identity, start *time.Time) (engine.Snapshot, error) {
	if start == nil || identity.Path == "" {
		return r.Load(ctx, id) //nolint:wrapcheck // says what and where
	}
	return r.Locate(ctx, engine.Key{ID: id, Identity: Identity(identity), Start: *start}) //nolint:wrapcheck // says what and where
}
