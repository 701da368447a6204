// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// operations are all that write, and all that read much.
var operations = map[string]operation{
	"snapshot on its store":         {run: uploadSecond, done: secondIsThere, stride: 2},
	"snapshot on its source":        {run: uploadSecond, done: secondIsThere, elsewhere: true, faults: fileFaults, known: []error{errPartial}},
	"restore on its store":          {run: restoreFirst, done: firstIsRestored},
	"restore on its target":         {run: restoreFirst, done: firstIsRestored, elsewhere: true, faults: fileFaults, known: []error{errPartial}},
	"device snapshot on its store":  {run: uploadDisk, done: diskIsThere, stride: 2},
	"device snapshot on its source": {run: uploadDisk, done: diskIsThere, elsewhere: true, faults: deviceFaults},
	"device restore on its store":   {run: restoreDisk, done: diskIsThere, prepared: true, stride: 2},
	"device restore on its target":  {run: restoreDisk, done: diskIsThere, prepared: true, elsewhere: true, faults: deviceFaults},
	"delete on its store":           {run: deleteFirst, done: firstIsGone, prepared: true, stride: 2},
	"replicate from its store":      {run: replicate, done: isReplicated, prepared: true, faults: blobFaults, stride: 3},
	"replicate to another store":    {run: replicate, done: isReplicated, prepared: true, elsewhere: true, faults: blobFaults, stride: 3},
	"migrate from its store":        {run: migrateAll, done: isMigrated, prepared: true, stride: 3, known: []error{errPartial}},
	"migrate to another store":      {run: migrateAll, done: isMigrated, prepared: true, elsewhere: true, faults: storeFaults, stride: 5},
	"quick maintenance":             {run: maintainQuick, done: nothingIsLost, aged: true, stride: 5},
	"full maintenance":              {run: maintainFull, done: garbageIsGone, aged: true, stride: 17},
	"quick verification":            {run: verifyAll, done: nothingIsLost, prepared: true, stride: 3, known: []error{errPartial}},
	"deep verification":             {run: verifyDeep, done: nothingIsLost, prepared: true, stride: 3, known: []error{errPartial}},
	"pin on its store":              {run: pinFirst, done: firstIsPinned, stride: 2},
}

func uploadSecond(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	u := uploadOf(s.source)
	u.Description, u.Tags = "second", map[string]string{"kopiur-request": "r"}
	if t.n > 0 {
		u.wrapFS = t.source
	}
	found, err := r.FindByTag(ctx, "kopiur-request", "r")
	if err != nil || len(found) > 0 && found[0].Failed == 0 {
		return err
	}
	up, err := r.Upload(ctx, u)
	if err == nil && up.Snapshot.Failed+up.Unstored.Unreadable > 0 {
		return fmt.Errorf("%w: %d entries", errPartial, up.Snapshot.Failed)
	}
	return err
}

var errPartial = errors.New("the snapshot lacks entries")

func secondIsThere(s *scene, _ *Repository) {
	s.t.Helper()
	assert.Equal(s.t, []string{"second", "first"}, s.whole("at the end"))
}

func restoreFirst(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	all, err := r.List(ctx, webData)
	if err != nil {
		return err
	}
	o := Restore{Target: s.target, Progress: &Counters{}, Request: "r", Parallel: 2}
	if t.n > 0 {
		o.wrap = t.target
	}
	out, err := r.Restore(ctx, all[0], o)
	if err == nil && out.Ownership.Failed > 0 {
		return fmt.Errorf("%w: %d", errPartial, out.Ownership.Failed)
	}
	return err
}

func firstIsRestored(s *scene, _ *Repository) {
	s.t.Helper()
	assert.Equal(s.t, s.trees["first"], facts(s.t, s.target))
}

func deleteFirst(ctx context.Context, s *scene, r *Repository, _ *trigger) error {
	out, err := r.Delete(ctx, ctx, []Key{s.first})
	for _, d := range out {
		if err == nil {
			err = d.Err
		}
	}
	return err
}

func firstIsGone(s *scene, _ *Repository) {
	s.t.Helper()
	assert.Equal(s.t, []string{"second"}, s.whole("at the end"))
}

func pinFirst(ctx context.Context, s *scene, r *Repository, _ *trigger) error {
	_, err := r.SetPin(ctx, s.first, true)
	return err
}

func firstIsPinned(s *scene, r *Repository) {
	s.t.Helper()
	assert.Equal(s.t, []string{"first"}, s.whole("at the end"))
	p, err := r.SetPin(testContext(s.t), s.first, true)
	require.NoError(s.t, err)
	assert.False(s.t, p.Changed)
}

// A repository that is being made has nothing to lose yet, but it must not be left so that nobody can make it.
func TestCreateUnderFire(t *testing.T) {
	t.Parallel()
	for _, f := range blobFaults[:2] {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			fired := true
			for n := int64(1); fired; n++ {
				require.Less(t, n, int64(500))
				ctx := testContext(t)
				path := t.TempDir()
				tr := &trigger{n: n, manner: f.manner, do: func(string, string) error { return f.err }}
				build := func(c Connection) error {
					if err := Create(ctx, c, CreateOptions{}); err != nil && !errors.Is(err, ErrOccupied) {
						return err
					}
					r, err := Open(ctx, c)
					if err != nil {
						return err
					}
					err = r.Furnish(ctx)
					return errors.Join(err, r.Close(ctx))
				}
				err := build(connection(t, tr.store(t, path)))
				if err != nil {
					require.True(t, isTyped(err, []error{ErrNotInitialized}), "call %d: %v", n, err)
				}
				fired = tr.fired()
				require.NoError(t, build(connection(t, Storage{Filesystem: &Filesystem{Path: path}})), "after call %d: %v", n, err)
			}
		})
	}
}
