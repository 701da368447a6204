// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// stored lists the names of a snapshot, with their types.
func stored(t *testing.T, r *Repository, s Snapshot) []string {
	t.Helper()
	dst := t.TempDir()
	_, err := r.Restore(testContext(t), s, Restore{Target: dst, Parallel: 2, Progress: &Counters{}})
	require.NoError(t, err)
	var out []string
	require.NoError(t, filepath.WalkDir(dst, func(p string, _ fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(dst, p)
		if rel != "." {
			out = append(out, rel)
		}
		if err != nil {
			return err
		}
		return rerr
	}))
	return out
}

// F-3, F-4, F-5: with uid and mode.
func TestUnreadableEntriesAreCountedAndNamed(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	ctx := testContext(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "ok"), "fine", 0o644)
	writeFile(t, filepath.Join(src, "secret"), "hidden", 0o000)
	writeFile(t, filepath.Join(src, "closed/inner"), "hidden", 0o644)
	writeFile(t, filepath.Join(src, "listed/inner"), "hidden", 0o644)
	require.NoError(t, os.Chmod(filepath.Join(src, "closed"), 0o000))
	require.NoError(t, os.Chmod(filepath.Join(src, "listed"), 0o444))
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(src, "closed"), 0o700)
		_ = os.Chmod(filepath.Join(src, "listed"), 0o700)
	})
	_, r := created(t, folder(t))

	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err, "what can be read is saved")
	assert.True(t, up.Snapshot.Complete())
	assert.Equal(t, int64(3), up.Snapshot.Failed)
	assert.Equal(t, int64(3), up.Unstored.Unreadable)
	paths := map[string]Fault{}
	for _, f := range up.Unstored.Paths {
		paths[f.Path] = f
	}
	require.Contains(t, paths, "secret")
	require.Contains(t, paths, "closed")
	require.Contains(t, paths, "listed/inner")
	assert.Equal(t, int64(nobodyOrSelf()), paths["secret"].UID)
	assert.Equal(t, "----------", paths["secret"].Mode.String())
	assert.Equal(t, "permission denied", paths["secret"].Reason)
	assert.Equal(t, []string{"listed", "ok"}, stored(t, r, up.Snapshot))

	u := uploadOf(src)
	u.Policy.IgnoreFileErrors, u.Policy.IgnoreDirErrors = true, true
	up, err = r.Upload(ctx, u)
	require.NoError(t, err)
	assert.Zero(t, up.Snapshot.Failed, "tolerated")
	assert.Equal(t, int64(3), up.Snapshot.Tolerated)
	assert.Equal(t, int64(3), up.Unstored.Unreadable, "and still counted")

	u = uploadOf(src)
	u.FailFast = true
	up, err = r.Upload(ctx, u)
	require.ErrorIs(t, err, ErrSource)
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.False(t, up.Snapshot.Complete())

	require.NoError(t, os.Chmod(src, 0o000))
	_, err = r.Upload(ctx, uploadOf(src))
	require.NoError(t, os.Chmod(src, 0o700))
	require.ErrorIs(t, err, ErrSource, "an unreadable root stores nothing")
	require.ErrorIs(t, err, fs.ErrPermission)
}

func nobodyOrSelf() int { return os.Geteuid() }

func TestOnlyTheFirstPathsAreNamed(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	src := t.TempDir()
	for i := range 3 * MaxPaths {
		writeFile(t, filepath.Join(src, "f"+string(rune('A'+i))), "x", 0o000)
	}
	_, r := created(t, folder(t))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, int64(3*MaxPaths), up.Unstored.Unreadable)
	assert.Len(t, up.Unstored.Paths, MaxPaths)
}

// K-10.
func TestWhatKopiaDoesNotStoreIsCounted(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "plain"), "x", 0o644)
	require.NoError(t, syscall.Mkfifo(filepath.Join(src, "pipe"), 0o600))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(src, "sock"))
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Link(filepath.Join(src, "plain"), filepath.Join(src, "second-name")))
	want := map[string]int64{"fifo": 1, "socket": 1, "hardlink": 2}
	writeFile(t, filepath.Join(src, "tagged"), "x", 0o644)
	if err := unix.Setxattr(filepath.Join(src, "tagged"), "user.note", []byte("kept?"), 0); err == nil {
		want["xattr"] = 1
	} else {
		t.Logf("this file system has no user attributes: %v", err)
	}
	// The mask of an ACL with one named user, as the kernel keeps it.
	acl := []byte{
		2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
		16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255,
	}
	writeFile(t, filepath.Join(src, "listed"), "x", 0o644)
	if err := unix.Setxattr(filepath.Join(src, "listed"), "system.posix_acl_access", acl, 0); err == nil {
		want["acl"] = 1
	} else {
		t.Logf("this file system has no ACLs: %v", err)
	}
	if unix.Mknod(filepath.Join(src, "null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil {
		want["device"] = 1
	} else {
		t.Log("device nodes need root")
	}
	_, r := created(t, folder(t))
	for _, attempt := range []string{"first", "second, when all is unchanged"} {
		up, err := r.Upload(testContext(t), uploadOf(src))
		require.NoError(t, err)
		assert.Equal(t, want, up.Unstored.Unsupported, attempt)
		assert.Zero(t, up.Unstored.Unreadable)
		assert.Zero(t, up.Snapshot.Failed)
	}
}

func TestRulesExcludeBeforeAnythingIsCounted(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "keep"), "x", 0o644)
	writeFile(t, filepath.Join(src, "tmp/a"), "x", 0o644)
	writeFile(t, filepath.Join(src, "b.log"), "x", 0o644)
	require.NoError(t, syscall.Mkfifo(filepath.Join(src, "p.log"), 0o600))
	_, r := created(t, folder(t))
	u := uploadOf(src)
	u.Policy.IgnoreRules = []string{"/tmp", "*.log"}
	up, err := r.Upload(testContext(t), u)
	require.NoError(t, err)
	assert.Empty(t, up.Unstored.Unsupported, "an excluded pipe is not missed")
	assert.Equal(t, []string{"keep"}, stored(t, r, up.Snapshot))
}

// A folder's own rules are honoured beside the policy's, as docs/reference/what-is-stored.md says.
func TestAFolderMayLeaveOutItsOwn(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "cache/.kopiaignore"), "*.tmp\n", 0o644)
	writeFile(t, filepath.Join(src, "cache/a.tmp"), "x", 0o644)
	writeFile(t, filepath.Join(src, "cache/a"), "x", 0o644)
	writeFile(t, filepath.Join(src, "b.tmp"), "x", 0o644)
	_, r := created(t, folder(t))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	got := stored(t, r, up.Snapshot)
	assert.NotContains(t, got, "cache/a.tmp")
	assert.Contains(t, got, "cache/a")
	assert.Contains(t, got, "b.tmp", "the rule is the folder's, not its parent's")
}

// K-10: Kopia would store both under the name a�b, and keep one of them.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a\xffb"), "one", 0o644)
	writeFile(t, filepath.Join(src, "a\xfeb"), "two", 0o644)
	writeFile(t, filepath.Join(src, "fine-ü"), "x", 0o644)
	require.NoError(t, os.Mkdir(filepath.Join(src, "d\xff"), 0o750))
	_, r := created(t, folder(t))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, int64(3), up.Unstored.UnsupportedNames)
	assert.Equal(t, int64(3), up.Snapshot.Failed, "the snapshot is incomplete, as with unreadable entries")
	assert.Zero(t, up.Unstored.Unreadable, "they are not counted twice")
	var names []string
	for _, f := range up.Unstored.Paths {
		assert.Equal(t, "UnsupportedName", f.Reason)
		names = append(names, f.Path)
	}
	slices.Sort(names)
	assert.Equal(t, []string{`a\xfeb`, `a\xffb`, `d\xff`}, names)
	assert.Equal(t, []string{"fine-ü"}, stored(t, r, up.Snapshot))
}

// A placeholder of kopia's shallow restore is a user's file here.
func TestPlaceholderNamesAreOrdinary(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "x.kopia-entry"), "not a placeholder", 0o644)
	_, r := created(t, folder(t))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	assert.Zero(t, up.Snapshot.Failed)
	assert.Equal(t, []string{"x.kopia-entry"}, stored(t, r, up.Snapshot))
}

func TestNewModifiedAndUnchangedFiles(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "d/same"), "same", 0o644)
	writeFile(t, filepath.Join(src, "d/changing"), "old", 0o644)
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 0, 0}, []int64{up.FilesNew, up.FilesModified, up.FilesUnchanged})
	assert.Positive(t, up.BytesUploaded)

	writeFile(t, filepath.Join(src, "d/changing"), "newer", 0o644)
	writeFile(t, filepath.Join(src, "e/added"), "added", 0o644)
	up, err = r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 1, 1}, []int64{up.FilesNew, up.FilesModified, up.FilesUnchanged})

	u := uploadOf(src)
	u.Policy.IgnoreIdentical = true
	up, err = r.Upload(ctx, u)
	require.NoError(t, err)
	assert.True(t, up.Unchanged)
	assert.Empty(t, up.Snapshot.ID)
	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	assert.Len(t, all, 2, "nothing was saved")
}

func TestProgressReachesItsTotals(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "12345", 0o644)
	writeFile(t, filepath.Join(src, "b/c"), "1234567", 0o644)
	_, r := created(t, folder(t))
	u := uploadOf(src)
	up, err := r.Upload(testContext(t), u)
	require.NoError(t, err)
	assert.Equal(t, int64(12), u.Progress.Bytes.Load())
	assert.Equal(t, int64(2), u.Progress.Files.Load())
	u = uploadOf(src)
	_, err = r.Upload(testContext(t), u)
	require.NoError(t, err)
	assert.Equal(t, int64(12), u.Progress.TotalBytes.Load(), "the totals of the snapshot before are the estimate")
	assert.Equal(t, int64(2), u.Progress.TotalFiles.Load())
	assert.Equal(t, int64(12), u.Progress.Bytes.Load())
	u.Progress = &Counters{}
	_, err = r.Restore(testContext(t), up.Snapshot, Restore{Target: t.TempDir(), Progress: u.Progress})
	require.NoError(t, err)
	assert.Equal(t, u.Progress.TotalBytes.Load(), u.Progress.Bytes.Load())
	assert.Equal(t, u.Progress.TotalFiles.Load(), u.Progress.Files.Load())
}
