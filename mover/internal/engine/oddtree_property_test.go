// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// oddTrees is how many random folders are stored and restored.
func oddTrees() uint64 {
	if soak {
		return 400
	}
	return 8
}

// K-10: whatever a folder holds, what kopia can keep comes back as it was, and the rest is counted to the last entry.
func TestRandomFoldersComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { t.Logf("figures: %d random folders", oddTrees()) })
	for seed := range oddTrees() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			comesBack(t, newOddTree(t, seed))
		})
	}
}

// K-10, K-4: The same where some of it may not be read.
func TestRandomFoldersOfAnUnprivilegedMover(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	for seed := range oddTrees() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			comesBack(t, newOddTree(t, seed))
		})
	}
}

func comesBack(t *testing.T, o *oddTree) {
	t.Helper()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	var files, dirs int64
	for _, f := range o.want {
		if f.mode.IsDir() {
			dirs++
		} else if f.mode.IsRegular() {
			files++
		}
	}
	for _, attempt := range []string{"first", "again, when nothing has changed"} {
		up, err := r.Upload(ctx, uploadOf(o.dir))
		require.NoError(t, err)
		assert.Equal(t, o.unsupported, up.Unstored.Unsupported, attempt)
		assert.Equal(t, o.badNames, up.Unstored.UnsupportedNames, attempt)
		assert.Equal(t, o.unreadable, up.Unstored.Unreadable, attempt)
		assert.Len(t, up.Unstored.Paths, int(min(o.badNames+o.unreadable, MaxPaths)), attempt)
		assert.Equal(t, o.badNames+o.unreadable, up.Snapshot.Failed, attempt)
		assert.Equal(t, []int64{files, dirs}, []int64{up.Snapshot.Files, up.Snapshot.Dirs}, attempt)
		if attempt == "first" {
			assert.Equal(t, files, up.FilesNew)
			continue
		}
		assert.Zero(t, up.FilesNew+up.FilesModified)

		dst := t.TempDir()
		out, err := r.Restore(ctx, up.Snapshot, Restore{Target: dst, Progress: &Counters{}, Parallel: 3, Request: "r"})
		require.NoError(t, err)
		assert.Zero(t, out.Ownership.Failed, "%v", out.Ownership.Paths)
		got := deepFacts(t, dst)
		for p, want := range o.want {
			have, ok := got[p]
			require.True(t, ok, "%q is not there", p)
			assert.True(t, want.mtime.Equal(have.mtime), "%q: %s is not %s", p, have.mtime, want.mtime)
			want.mtime = have.mtime
			assert.Equal(t, want, have, "%q", p)
		}
		assert.Len(t, got, len(o.want), "nothing else is there")
	}
}

// D8: a live volume goes on while it is read.
func TestALiveFolderIsStoredAsItWasSeen(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	for _, n := range []string{"grows", "shrinks", "stays", "vanishes", "sub/vanishes too", "replaced"} {
		writeFile(t, filepath.Join(src, n), "content", 0o644)
	}
	require.NoError(t, os.Symlink("stays", filepath.Join(src, "link")))
	live := &liveSource{dir: src}
	_, r := created(t, folder(t))
	u := uploadOf(src)
	u.wrapFS = func(s sourceFS) sourceFS { live.sourceFS = s; return live }
	up, err := r.Upload(ctx, u)
	require.NoError(t, err)
	assert.Zero(t, up.Snapshot.Failed, "what was deleted is no fault")
	assert.Zero(t, up.Unstored.Unreadable)
	assert.Empty(t, up.Unstored.Paths)
	assert.Equal(t, int64(3), up.Vanished)
	names := stored(t, r, up.Snapshot)
	slices.Sort(names)
	assert.Equal(t, []string{"grows", "replaced", "shrinks", "stays"}, names)

	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Zero(t, all[0].Failed, "nor for whoever reads the repository later")
	assert.Empty(t, all[0].Faults)
}

// liveSource changes files in the moment in which they are opened.
type liveSource struct {
	sourceFS

	dir string
}

func (l *liveSource) OpenFile(rel string) (sourceHandle, error) {
	at := filepath.Join(l.dir, rel)
	var err error
	switch rel {
	case "grows":
		err = os.WriteFile(at, []byte("content and more"), 0o600)
	case "shrinks":
		err = os.Truncate(at, 3)
	case "replaced":
		if err = os.Remove(at); err == nil {
			err = os.WriteFile(at, []byte("another file"), 0o600)
		}
	case "vanishes":
		err = os.Remove(at)
	}
	if err != nil {
		return nil, err
	}
	return l.sourceFS.OpenFile(rel)
}

func (l *liveSource) OpenDir(rel string) (sourceFolder, error) {
	if rel == "sub" {
		if err := os.RemoveAll(filepath.Join(l.dir, rel)); err != nil {
			return nil, err
		}
	}
	return l.sourceFS.OpenDir(rel)
}

func (l *liveSource) Readlink(rel string) (string, error) {
	if err := os.Remove(filepath.Join(l.dir, rel)); err != nil {
		return "", err
	}
	return l.sourceFS.Readlink(rel)
}

// K-4: A name that is listed and cannot be found is data that would be missing: nothing says that it was deleted.
func TestANameThatIsListedAndCannotBeFoundIsAFault(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "fine"), "x", 0o644)
	writeFile(t, filepath.Join(src, "ghost"), "x", 0o644)
	_, r := created(t, folder(t))
	for _, only := range []string{"lstat", "open"} {
		u := uploadOf(src)
		u.wrapFS = func(s sourceFS) sourceFS {
			return (&trigger{only: only, manner: manner{forever: true}, do: func(_, name string) error {
				if filepath.Base(name) == "ghost" {
					return os.ErrNotExist
				}
				return nil
			}}).source(s)
		}
		up, err := r.Upload(testContext(t), u)
		require.NoError(t, err)
		assert.Equal(t, int64(1), up.Snapshot.Failed, only)
		assert.Equal(t, int64(1), up.Unstored.Unreadable, only)
		assert.Equal(t, "ghost", up.Unstored.Paths[0].Path, only)
		now := time.Now()
		require.NoError(t, os.Chtimes(filepath.Join(src, "ghost"), now, now)) // read again
	}
}
