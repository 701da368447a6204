// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/manifest"
)

// Deletion is what became of one key.
type Deletion struct {
	// Deleted and Gone are both done; neither means that nothing was deleted for this key, and Err says why.
	Deleted, Gone bool
	Err           error
}

// Delete removes snapshots in one write (D-2). It deletes exactly what is asked for or nothing: what has the id and is
// another snapshot, and what cannot be told from its twin, is kept and reported. An error means that nothing is known to
// be deleted; asked again, what went is gone.
//
// The look-ups stop when look ends, the write goes on until ctx does.
func (r *Repository) Delete(ctx, look context.Context, keys []Key) ([]Deletion, error) {
	out := make([]Deletion, len(keys))
	doomed := map[manifest.ID]bool{}
	l := &locator{r: r}
	for i, k := range keys {
		if err := context.Cause(look); err != nil {
			return nil, fmt.Errorf("delete snapshots: %w", err)
		}
		s, err := l.find(look, k)
		switch {
		case err == nil:
			out[i].Deleted = true
			doomed[manifest.ID(s.ID)] = true
		case errors.Is(err, ErrSnapshotNotFound):
			out[i].Gone = true
		case errors.Is(err, ErrMismatch):
			out[i].Err = err
		default:
			return nil, err
		}
	}
	if len(doomed) == 0 {
		return out, nil
	}
	err := r.write(ctx, "delete snapshots", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		for id := range doomed {
			if err := w.DeleteManifest(ctx, id); err != nil {
				return fmt.Errorf("delete snapshot %s: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
