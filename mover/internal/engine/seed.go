// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
)

// SeedPlace is what is where a new repository is to be filled from another one.
type SeedPlace struct {
	// Initialized: there is a repository. UniqueID is its id in hex.
	Initialized bool
	UniqueID    string
	// Begun: a seed has begun there and has not ended.
	Begun bool
}

// LookForSeed looks at the place of a seed. What is there and is neither a repository nor a copy that has begun is
// somebody else's, and an error.
func LookForSeed(ctx context.Context, s Storage) (SeedPlace, error) {
	d, err := s.look(ctx)
	if err != nil {
		return SeedPlace{}, err
	}
	if d.found != "" && d.marker == nil && !d.initialized {
		return SeedPlace{}, fmt.Errorf("%w: the %s holds %q", ErrOccupied, s, d.found)
	}
	return SeedPlace{Initialized: d.initialized, UniqueID: d.uniqueID, Begun: d.marker != nil}, nil
}

// BeginSeed creates the repository that snapshots are to be copied into, or finds the one that an earlier attempt of the
// same seed has created. The mark comes before the repository, so that a killed attempt is told from a repository of
// somebody's own: that one is never touched.
func BeginSeed(ctx context.Context, c Connection, source string, o CreateOptions) (resumed bool, err error) {
	if err := o.check(); err != nil {
		return false, err
	}
	d, err := c.Storage.look(ctx)
	if err != nil {
		return false, err
	}
	want := copyMarker{Source: source, Mode: copySnapshots}
	switch {
	case d.marker != nil && *d.marker != want:
		return false, fmt.Errorf("%w: a copy of the repository %s has begun there", ErrOccupied, d.marker.Source)
	case d.initialized && d.marker == nil:
		return false, fmt.Errorf("%w: the %s holds a repository", ErrOccupied, c.Storage)
	case d.initialized:
		return true, nil
	case d.found != "":
		return false, fmt.Errorf("%w: the %s holds %q", ErrOccupied, c.Storage, d.found)
	}
	if d.marker == nil {
		st, err := c.Storage.open(ctx)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrStorage, err)
		}
		defer st.Close(context.WithoutCancel(ctx))
		c.Storage.prepare()
		if err := want.write(ctx, st); err != nil {
			return false, err
		}
	}
	return d.marker != nil, c.initialize(ctx, o, d.location)
}

// EndSeed takes the mark away: from now on it is a repository like any other.
func EndSeed(ctx context.Context, s Storage) error {
	st, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	defer st.Close(context.WithoutCancel(ctx))
	return removeMarker(ctx, st)
}
