// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A seed is under fire where it writes: a place that it has begun is gone on with, and is nobody's repository before.
func init() {
	operations["seed to another store"] = operation{run: seedAll, done: isSeeded, prepared: true, elsewhere: true, faults: storeFaults, stride: 7}
}

func seedAll(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	c := connection(s.t, s.elsewhere(t))
	c.Password, c.Hostname = "another password", "kopiur-offsite"
	place, err := LookForSeed(ctx, c.Storage)
	if err != nil || place.Initialized && !place.Begun {
		return err
	}
	if _, err := BeginSeed(ctx, c, r.UniqueID(), CreateOptions{}); err != nil {
		return err
	}
	to, err := Open(ctx, c)
	if err != nil {
		return err
	}
	err = to.Furnish(ctx)
	if err == nil {
		var out Migrated
		out, err = r.MigrateTo(ctx, to, Migration{
			Select: func(i Identity) bool { return i == webData }, Parallel: 1, Files: 2, Progress: &Counters{}, Log: func(string, string) {},
		})
		if err == nil && out.Failed > 0 {
			err = fmt.Errorf("%w: %d were left out", errPartial, out.Failed)
		}
	}
	if cerr := to.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("%w: %w", ErrStorage, cerr)
	}
	if err != nil {
		return err
	}
	return EndSeed(ctx, c.Storage)
}

func isSeeded(s *scene, r *Repository) {
	s.t.Helper()
	isMigrated(s, r)
	place, err := LookForSeed(testContext(s.t), s.elsewhere(nil))
	require.NoError(s.t, err)
	assert.True(s.t, place.Initialized)
	assert.False(s.t, place.Begun, "it has ended")
}
