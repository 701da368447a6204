// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// throughCache does a round trip with this cache and returns what was advised.
func throughCache(t *testing.T, dir string) []string {
	t.Helper()
	var said []string
	ctx := testContext(t)
	c, _ := created(t, folder(t))
	c.Cache = Cache{Dir: dir, Advise: func(s string) { said = append(said, s) }}
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "content", 0o644)
	var id string
	with(t, c, func(r *Repository) {
		up, err := r.Upload(ctx, uploadOf(src))
		require.NoError(t, err)
		id = up.Snapshot.ID
	})
	c.Cache.Advise = nil
	with(t, c, func(r *Repository) {
		s, err := r.Load(ctx, id)
		require.NoError(t, err)
		assert.Equal(t, []string{"a"}, stored(t, r, s))
	})
	return said
}

// G-1, G-2, G-3, J-8: whatever is wrong with a cache volume, the work is done, and the user is told what to do.
func TestACacheThatCannotBeUsed(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Mounting(t) {
		return
	}
	for name, tc := range map[string]struct { //nolint:paralleltest // see above
		bytes   int64
		arrange func(t *testing.T, dir string)
		says    []string
		// used: kopia has a cache after all.
		used bool
	}{
		"none is wrong": {8 << 20, func(*testing.T, string) {}, nil, true},
		"it is full of what was cached before": {8 << 20, func(t *testing.T, dir string) {
			t.Helper()
			fillUp(t, filepath.Join(dir, "contents", "junk"))
		}, []string{"was full and has been emptied"}, true},
		"it is too small for anything": {64 << 10, func(*testing.T, string) {}, []string{"was full", "full, also after it was emptied; the mover works without a cache"}, false},
		"it is read-only":              {8 << 20, unprivileged.ReadOnly, []string{"mounted read-only; the mover works without a cache"}, false},
		"it holds a file where a folder of kopia's belongs": {8 << 20, func(t *testing.T, dir string) {
			t.Helper()
			writeFile(t, filepath.Join(dir, "indexes"), "x", 0o600)
		}, []string{"could not be used and has been emptied"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			unprivileged.Volume(t, dir, tc.bytes)
			tc.arrange(t, dir)
			said := throughCache(t, dir)
			require.Len(t, said, len(tc.says), "%q", said)
			for i, s := range tc.says {
				assert.Contains(t, said[i], s)
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Equal(t, tc.used, len(entries) > 0)
		})
	}
}

// fillUp writes a file until the volume is full.
func fillUp(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for b := make([]byte, 4096); err == nil; {
		_, err = f.Write(b)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}

// J-8: root_squash, and a cache that another uid has used.
func TestACacheOfSomebodyElse(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	for name, part := range map[string]string{"the volume": "", "a part of it": "contents"} { //nolint:paralleltest // see above
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			closed := filepath.Join(dir, part)
			require.NoError(t, os.MkdirAll(closed, 0o700))
			require.NoError(t, os.Chmod(closed, 0o500))
			t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
			said := throughCache(t, dir)
			require.Len(t, said, 1)
			assert.Contains(t, said[0], "uid 65534 may not write to the cache volume")
			assert.Contains(t, said[0], "root_squash")
		})
	}
}

// G-2.
func TestOldLogsAreDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"cli-logs/kopia.log", "content-logs/a/b", "logs/x", "contents/kept"} {
		writeFile(t, filepath.Join(dir, name), "x", 0o600)
	}
	DropOldLogs(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "contents", entries[0].Name())
	DropOldLogs("")
}

func TestEmptyCacheKeepsTheMount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "contents/a/b"), "x", 0o600)
	require.NoError(t, EmptyCache(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
	require.ErrorIs(t, EmptyCache(filepath.Join(dir, "gone")), syscall.ENOENT)
}
