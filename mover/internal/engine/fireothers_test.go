// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// key is what a storage finds this clock by.
func (a *ages) key() string { return fmt.Sprintf("%p", a) }

// again is a clock that goes on by itself from here.
func (a *ages) again(t *testing.T) *ages {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &ages{now: a.now, times: maps.Clone(a.times)}
	allAges.Store(c.key(), c)
	t.Cleanup(func() { allAges.Delete(c.key()) })
	return c
}

// agedBytes fill a blob of their own: kopia puts smaller ones together, with what is in use.
const agedBytes = 18 << 20

// newAgedScene has both trees and a third that was deleted, so long ago that the next full maintenance removes its blobs.
func newAgedScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	s.ages = (&ages{now: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC), times: map[blob.ID]time.Time{}}).again(t)
	s.begin(s.connection(nil))
	s.ages.pass(time.Hour)
	require.NoError(t, s.attempt(operation{run: uploadSecond}, nil))
	s.ages.pass(time.Hour)
	third := t.TempDir()
	b := make([]byte, agedBytes)
	_, _ = rand.NewChaCha8([32]byte{5}).Read(b)
	require.NoError(t, os.WriteFile(filepath.Join(third, "third"), b, 0o600))
	require.NoError(t, s.attempt(operation{run: func(ctx context.Context, _ *scene, r *Repository, _ *trigger) error {
		u := uploadOf(third)
		u.Identity, u.Policy.Compression = webDisk, "none"
		up, err := r.Upload(ctx, u)
		if err != nil {
			return err
		}
		_, err = r.Delete(ctx, ctx, []Key{{ID: up.Snapshot.ID, Identity: webDisk, Start: up.Snapshot.Start}})
		return err
	}}, nil))
	for range 10 {
		s.ages.pass(25 * time.Hour)
		next := s.again(t)
		r := next.clean()
		out, err := r.Maintain(testContext(t), Maintenance{Full: true, Interval: 24 * time.Hour, Parallel: 2})
		require.NoError(t, err)
		require.NoError(t, r.Close(testContext(t)))
		if out.RemovedBytes >= int64(len(b)) {
			return s // as it was just before that
		}
		s = next
		s.source = filepath.Join(filepath.Dir(s.source), "source")
	}
	require.Fail(t, "the garbage never went away")
	return nil
}

func maintainQuick(ctx context.Context, _ *scene, r *Repository, _ *trigger) error {
	_, err := r.Maintain(ctx, Maintenance{Parallel: 2})
	return err
}

func maintainFull(ctx context.Context, _ *scene, r *Repository, _ *trigger) error {
	_, err := r.Maintain(ctx, Maintenance{Full: true, Parallel: 2})
	return err
}

func nothingIsLost(s *scene, _ *Repository) {
	s.t.Helper()
	assert.Equal(s.t, []string{"second", "first"}, s.whole("at the end"))
}

// garbageIsGone: what a maintenance that failed had not removed, a later one does.
func garbageIsGone(s *scene, r *Repository) {
	s.t.Helper()
	nothingIsLost(s, r)
	for range 4 {
		var bytes int64
		for _, n := range sizesOf(s.t, s.repo) {
			bytes += n
		}
		if bytes < agedBytes {
			return
		}
		s.ages.pass(25 * time.Hour)
		require.NoError(s.t, s.attempt(operation{run: maintainFull}, nil))
	}
	assert.Fail(s.t, "the garbage never went away", "%v", sizesOf(s.t, s.repo))
}

// sizesOf are the sizes of the files of a repository.
func sizesOf(t *testing.T, path string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	require.NoError(t, filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			out[p] = st.Size()
		}
		return err
	}))
	return out
}

// elsewhere is a second place for a repository, behind a trigger where there is one.
func (s *scene) elsewhere(t *trigger) Storage {
	s.t.Helper()
	at := filepath.Join(s.root, "elsewhere")
	require.NoError(s.t, os.MkdirAll(at, 0o750))
	if t != nil && t.n > 0 {
		return t.store(s.t, at)
	}
	return Storage{Filesystem: &Filesystem{Path: at}}
}

func replicate(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	_, err := r.Mirror(ctx, Mirror{Destination: s.elsewhere(t), Parallel: 3, DeleteExtra: true, Progress: &Counters{}, Log: func(string, string) {}})
	return err
}

func isReplicated(s *scene, _ *Repository) {
	s.t.Helper()
	r, err := Open(testContext(s.t), connection(s.t, s.elsewhere(nil)))
	require.NoError(s.t, err)
	assert.Equal(s.t, []string{"second", "first"}, s.wholeIn(r, "the copy"))
	require.NoError(s.t, r.Close(testContext(s.t)))
}

func migrateAll(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	c := connection(s.t, s.elsewhere(nil))
	c.Password, c.Hostname = "another password", "kopiur-offsite"
	if err := Create(ctx, c, CreateOptions{}); err != nil && !errors.Is(err, ErrOccupied) {
		return err
	}
	c.Storage = s.elsewhere(t)
	to, err := Open(ctx, c)
	if err != nil {
		return err
	}
	out, err := r.MigrateTo(ctx, to, Migration{
		Select: func(i Identity) bool { return i == webData }, Parallel: 1, Files: 2, Progress: &Counters{}, Log: func(string, string) {},
	})
	if cerr := to.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("%w: %w", ErrStorage, cerr)
	}
	if err == nil && out.Failed > 0 {
		err = fmt.Errorf("%w: %d were left out", errPartial, out.Failed)
	}
	return err
}

func isMigrated(s *scene, _ *Repository) {
	s.t.Helper()
	c := connection(s.t, s.elsewhere(nil))
	c.Password = "another password"
	r, err := Open(testContext(s.t), c)
	require.NoError(s.t, err)
	assert.Equal(s.t, []string{"second", "first"}, s.wholeIn(r, "the copies"))
	require.NoError(s.t, r.Close(testContext(s.t)))
}

func verifyAll(ctx context.Context, _ *scene, r *Repository, _ *trigger) error {
	all, err := r.List(ctx, webData)
	if err != nil {
		return err
	}
	out, err := r.Verify(ctx, all, Verify{ReadPercent: 100, Parallel: 2, FileParallel: 2, Progress: &Counters{}})
	if err == nil && out.Errors > 0 {
		err = fmt.Errorf("%w: %v", errPartial, out.Faults)
	}
	return err
}

func verifyDeep(ctx context.Context, s *scene, r *Repository, _ *trigger) error {
	all, err := r.List(ctx, webData)
	if err != nil {
		return err
	}
	out, err := r.VerifyDeep(ctx, all[0], Deep{Scratch: s.target, Name: "scratch", Parallel: 2, Progress: &Counters{}})
	if err == nil && !out.Matches {
		err = fmt.Errorf("%w: %v", errPartial, out.Faults)
	}
	return err
}
