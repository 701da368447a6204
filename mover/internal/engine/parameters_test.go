// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parametersOf reads through a connection of its own, without anybody's cache.
func parametersOf(t *testing.T, c Connection) Parameters {
	t.Helper()
	ctx := testContext(t)
	c.WorkDir, c.Cache = t.TempDir(), Cache{}
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(ctx)) }()
	p, err := r.Parameters(ctx)
	require.NoError(t, err)
	return p
}

// C-10: every parameter arrives, and nothing else changes.
func TestEveryParameterIsApplied(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   Epoch
		want func(*Epoch)
	}{
		"minDuration":      {Epoch{MinDuration: 2 * time.Hour}, func(e *Epoch) { e.MinDuration = 2 * time.Hour }},
		"refreshFrequency": {Epoch{RefreshFrequency: 5 * time.Minute}, func(e *Epoch) { e.RefreshFrequency = 5 * time.Minute }},
		"refreshFrequency, with the safety margin it needs": {Epoch{RefreshFrequency: 2 * time.Hour}, func(e *Epoch) {
			e.RefreshFrequency, e.CleanupSafetyMargin = 2*time.Hour, 6*time.Hour
		}},
		"advanceOnCount":      {Epoch{AdvanceOnCount: 33}, func(e *Epoch) { e.AdvanceOnCount = 33 }},
		"advanceOnSize":       {Epoch{AdvanceOnBytes: 99 << 20}, func(e *Epoch) { e.AdvanceOnBytes = 99 << 20 }},
		"checkpointFrequency": {Epoch{CheckpointFrequency: 3}, func(e *Epoch) { e.CheckpointFrequency = 3 }},
		"deleteParallelism":   {Epoch{DeleteParallelism: 9}, func(e *Epoch) { e.DeleteParallelism = 9 }},
		"nothing":             {Epoch{}, func(*Epoch) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			c, r := created(t, folder(t))
			want := parametersOf(t, c)
			require.True(t, want.Epoch.Enabled)
			tc.want(&want.Epoch)
			changed, err := r.SetParameters(ctx, Change{Epoch: tc.in})
			require.NoError(t, err)
			assert.Equal(t, tc.in != Epoch{}, changed)
			assert.Equal(t, want, parametersOf(t, c))

			before := tree(t, c.Storage.Filesystem.Path)
			c.WorkDir = t.TempDir()
			again, err := Open(ctx, c)
			require.NoError(t, err)
			changed, err = again.SetParameters(ctx, Change{Epoch: tc.in})
			require.NoError(t, err)
			assert.False(t, changed)
			assert.Equal(t, before, tree(t, c.Storage.Filesystem.Path), "what is as wanted is not written again")
			require.NoError(t, again.Close(ctx))
		})
	}
}

func TestImpossibleParametersChangeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Change{
		"epochs shorter than three refreshes":    {Epoch: Epoch{MinDuration: 30 * time.Minute}},
		"epochs of a minute":                     {Epoch: Epoch{MinDuration: time.Minute, RefreshFrequency: time.Second}},
		"an epoch per blob":                      {Epoch: Epoch{AdvanceOnCount: 1}},
		"an epoch per kilobyte":                  {Epoch: Epoch{AdvanceOnBytes: 1 << 10}},
		"object lock on a folder":                {Retention: &BlobRetention{Period: 48 * time.Hour}},
		"object lock for an hour":                {Retention: &BlobRetention{Period: time.Hour}},
		"object lock for no time, in Compliance": {Retention: &BlobRetention{Compliance: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, r := created(t, folder(t))
			before := tree(t, conn.Storage.Filesystem.Path)
			_, err := r.SetParameters(testContext(t), c)
			require.ErrorIs(t, err, ErrInvalidOption)
			assert.Equal(t, before, tree(t, conn.Storage.Filesystem.Path))
		})
	}
}

// D-11: from then on every blob is locked, the repository's own included.
func TestBlobRetention(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var locked, unlocked atomic.Int64
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/apps/") && !strings.Contains(r.URL.Path, "/apps/s") {
				if r.Header.Get("X-Amz-Object-Lock-Mode") == "COMPLIANCE" {
					locked.Add(1)
				} else {
					unlocked.Add(1)
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	c, r := created(t, Storage{S3: &s})
	want := BlobRetention{Compliance: true, Period: 48 * time.Hour}
	unlocked.Store(0)
	changed, err := r.SetParameters(ctx, Change{Retention: &want})
	require.NoError(t, err)
	require.True(t, changed)
	assert.Equal(t, int64(2), locked.Load(), "the two blobs that describe the repository")
	assert.Equal(t, want, parametersOf(t, c).Retention)
	assert.False(t, parametersOf(t, c).Extends)

	c.WorkDir = t.TempDir()
	r, err = Open(ctx, c)
	require.NoError(t, err)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "f"), "content", 0o644)
	_, err = r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.True(t, r.LocksBlobs(ctx))
	assert.Greater(t, locked.Load(), int64(2))
	assert.Zero(t, unlocked.Load())

	changed, err = r.SetParameters(ctx, Change{Retention: &BlobRetention{}})
	require.NoError(t, err)
	assert.True(t, changed)
	require.NoError(t, r.Close(ctx))
	assert.Zero(t, parametersOf(t, c).Retention)
}

func TestAStoreThatCannotLockLeavesTheRepositoryAsItWas(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Object-Lock-Mode") != "" {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`<Error><Code>InvalidRequest</Code><Message>Bucket is missing ObjectLockConfiguration</Message></Error>`))
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	c, r := created(t, Storage{S3: &s})
	before := parametersOf(t, c)
	_, err := r.SetParameters(ctx, Change{Epoch: Epoch{AdvanceOnCount: 33}, Retention: &BlobRetention{Period: 48 * time.Hour}})
	require.ErrorIs(t, err, ErrStorage)
	assert.Equal(t, before, parametersOf(t, c))
}

// D-11: locks that are long enough are prolonged by full maintenance, whoever made the repository.
func TestLocksAreExtended(t *testing.T) {
	t.Parallel()
	type step struct {
		change  *BlobRetention
		extends bool
		refused error
	}
	days := func(n int) *BlobRetention { return &BlobRetention{Period: time.Duration(n) * 24 * time.Hour} }
	for name, steps := range map[string][]step{
		"from two days on":                           {{change: days(2), extends: true}},
		"not those of a day, which end before":       {{change: days(1)}},
		"once they are longer":                       {{change: days(1)}, {change: days(3), extends: true}},
		"still, where nobody says anything of locks": {{change: days(2), extends: true}, {extends: true}},
		"no more, where nothing is locked any more":  {{change: days(2), extends: true}, {change: &BlobRetention{}}, {change: days(1)}},
		"and are not let end by a shorter period":    {{change: days(3), extends: true}, {change: days(1), extends: true, refused: ErrInvalidOption}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := s3Server(t, false, nil)
			c, _ := created(t, Storage{S3: &s})
			for i, st := range steps {
				change := Change{Retention: st.change}
				with(t, c, func(r *Repository) {
					_, err := r.SetParameters(t.Context(), change)
					require.ErrorIs(t, err, st.refused)
				})
				if st.refused == nil {
					with(t, c, func(r *Repository) {
						require.NoError(t, r.ExtendLocks(t.Context(), change))
						differs, err := r.Differs(t.Context(), change)
						require.NoError(t, err)
						assert.False(t, differs)
					})
				}
				p := parametersOf(t, c)
				assert.Equal(t, st.extends, p.Extends, "step %d", i)
				assert.Equal(t, 48*time.Hour, p.LeastExtended)
			}
		})
	}
}

func TestRetentionMustOutlastItsExtension(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s, _ := s3Server(t, false, nil)
	_, r := created(t, Storage{S3: &s})
	require.NoError(t, r.write(ctx, "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		p := maintenance.DefaultParams()
		p.ExtendObjectLocks = true
		return maintenance.SetParams(ctx, w, &p)
	}))
	_, err := r.SetParameters(ctx, Change{Retention: &BlobRetention{Period: 30 * time.Hour}})
	require.ErrorIs(t, err, ErrInvalidOption, "full maintenance is daily; a lock would end before it is extended")
	_, err = r.SetParameters(ctx, Change{Retention: &BlobRetention{Period: 48 * time.Hour}})
	require.NoError(t, err)
}
