// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lossy is a repository whose snapshot has a file that is stored and one whose blob is gone.
func lossy(t *testing.T) (Connection, Snapshot) {
	t.Helper()
	ctx := testContext(t)
	c, r := created(t, folder(t))
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "lost"), strings.Repeat("lost", 1000), 0o600)
	_, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	var doomed []string
	for name := range sizesOf(t, c.Storage.Filesystem.Path) {
		rel, err := filepath.Rel(c.Storage.Filesystem.Path, name)
		require.NoError(t, err)
		if strings.HasPrefix(rel, "p") {
			doomed = append(doomed, name)
		}
	}
	require.NotEmpty(t, doomed)
	writeFile(t, filepath.Join(src, "there"), strings.Repeat("there", 1000), 0o600)
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	for _, name := range doomed {
		require.NoError(t, os.Remove(name))
	}
	c.WorkDir = t.TempDir()
	return c, up.Snapshot
}

// Data that is gone stays gone: it is told apart from a store that does not answer, and the rest can be saved.
func TestRestoreOfWhatIsDamaged(t *testing.T) {
	t.Parallel()
	c, s := lossy(t)
	with(t, c, func(r *Repository) {
		_, err := r.Restore(testContext(t), s, Restore{Target: t.TempDir(), Progress: &Counters{}})
		require.ErrorIs(t, err, ErrDamaged)

		dst := t.TempDir()
		out, err := r.Restore(testContext(t), s, Restore{Target: dst, IgnoreErrors: true, Progress: &Counters{}})
		require.NoError(t, err, "whoever asks for it gets what is there")
		assert.Equal(t, int64(1), out.Failed)
		require.Len(t, out.Faults, 1)
		assert.Equal(t, "lost", out.Faults[0].Path)
		assert.FileExists(t, filepath.Join(dst, "there"))
		assert.NoFileExists(t, filepath.Join(dst, "lost"))
	})
}

// A store that does not answer is not a matter of single files, whatever errors are to be ignored.
func TestRestoreDoesNotIgnoreAnOutage(t *testing.T) {
	t.Parallel()
	c, r := created(t, folder(t))
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "content", 0o600)
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	tr := &trigger{only: "get", manner: manner{forever: true}, do: func(string, string) error { return syscall.EHOSTUNREACH }}
	c.Storage, c.WorkDir = tr.store(t, c.Storage.Filesystem.Path), t.TempDir()
	tr.n = 1 << 30 // not while it is opened
	with(t, c, func(r *Repository) {
		tr.n = tr.calls.Load()
		out, err := r.Restore(testContext(t), up.Snapshot, Restore{Target: t.TempDir(), IgnoreErrors: true, Progress: &Counters{}})
		require.ErrorIs(t, err, ErrStorage)
		require.NotErrorIs(t, err, ErrDamaged)
		assert.Zero(t, out.Failed)
	})
}
