// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUploadAndRestore(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src, dst := t.TempDir(), t.TempDir()
	old := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	writeFile(t, filepath.Join(src, "a/b/hello"), "hello", 0o640)
	require.NoError(t, os.Symlink("b/hello", filepath.Join(src, "a/link")))
	for _, p := range []string{"a/b/hello", "a/b", "a", "."} {
		require.NoError(t, os.Chtimes(filepath.Join(src, p), old, old))
	}
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	require.NotEmpty(t, up.Snapshot.ID)
	assert.Equal(t, int64(1), up.FilesNew)
	assert.Equal(t, int64(5), up.Snapshot.Size)

	s, err := r.Load(ctx, up.Snapshot.ID)
	require.NoError(t, err)
	got, err := r.Restore(ctx, s, Restore{Target: dst, Parallel: 4, Progress: &Counters{}})
	require.NoError(t, err)
	assert.Equal(t, int64(1), got.Files)
	assert.Equal(t, int64(1), got.Links)
	assert.Equal(t, int64(3), got.Dirs)
	assert.Empty(t, got.Ownership.Paths)
	for _, p := range []string{"a/b/hello", "a/b", "a", "."} {
		st, err := os.Stat(filepath.Join(dst, p))
		require.NoError(t, err)
		want, err := os.Stat(filepath.Join(src, p))
		require.NoError(t, err)
		assert.Equal(t, want.Mode(), st.Mode(), p)
		assert.True(t, old.Equal(st.ModTime()), "%s: %s", p, st.ModTime())
	}
	b, err := os.ReadFile(filepath.Join(dst, "a/b/hello"))
	require.NoError(t, err)
	assert.Equal(t, "hello", string(b))
}
