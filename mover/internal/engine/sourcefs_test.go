// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What is said of an entry is what Go says of it, whichever way it was asked for.
func TestLookingAtASource(t *testing.T) {
	t.Parallel()
	src := filepath.Join(t.TempDir(), "src")
	writeFile(t, filepath.Join(src, "d/f"), "inside", 0o644)
	require.NoError(t, os.Chmod(filepath.Join(src, "d/f"), 0o640|os.ModeSetuid|os.ModeSetgid))
	require.NoError(t, os.Mkdir(filepath.Join(src, "d/open"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(src, "d/open"), 0o777|os.ModeSticky))
	require.NoError(t, os.Symlink("f", filepath.Join(src, "d/link")))
	require.NoError(t, os.Symlink("nothing", filepath.Join(src, "d/dangling")))
	require.NoError(t, os.Symlink("d", filepath.Join(src, "way")))
	require.NoError(t, os.Symlink("..", filepath.Join(src, "d/out")))
	require.NoError(t, os.Symlink("/", filepath.Join(src, "d/away")))
	require.NoError(t, unix.Mkfifo(filepath.Join(src, "d/pipe"), 0o600))
	require.NoError(t, unix.Mknod(filepath.Join(src, "d/socket"), unix.S_IFSOCK|0o600, 0))
	names := []string{"f", "open", "link", "dangling", "out", "away", "pipe", "socket"}
	if unix.Mknod(filepath.Join(src, "d/null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil {
		names = append(names, "null") // root may
	}
	sys, err := openRootFS(src)
	require.NoError(t, err)
	defer sys.Close()
	d, err := sys.OpenDir("way")
	require.NoError(t, err)
	defer d.Close()

	for _, name := range names {
		want, err := os.Lstat(filepath.Join(src, "d", name))
		require.NoError(t, err)
		short, err := sys.Lstat("d/" + name)
		require.NoError(t, err, name)
		listed, err := d.Lstat(name)
		require.NoError(t, err, name)
		for _, got := range []os.FileInfo{short, listed} {
			assert.Equal(t, want.Name(), got.Name())
			assert.Equal(t, want.Mode(), got.Mode(), name)
			assert.Equal(t, want.Size(), got.Size(), name)
			assert.Equal(t, want.ModTime(), got.ModTime(), name)
			assert.Equal(t, want.IsDir(), got.IsDir(), name)
			assert.Equal(t, want.Sys(), got.Sys(), name)
		}
	}
	for _, rel := range []string{"d/none", "none/none"} {
		_, err := sys.Lstat(rel)
		require.ErrorIs(t, err, iofs.ErrNotExist, rel)
	}
	_, err = d.Lstat("none")
	require.ErrorIs(t, err, iofs.ErrNotExist)
	for _, rel := range []string{"../src", "d/out/../../src", "d/away/etc"} {
		_, err := sys.Lstat(rel)
		require.Error(t, err, rel)
		_, err = sys.OpenDir(rel)
		require.Error(t, err, rel)
	}
}

// A file is opened in one step or in many, and either way it is the one below the root or none.
func TestOpeningAFileOfASource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	writeFile(t, filepath.Join(src, "d/f"), "inside", 0o644)
	writeFile(t, filepath.Join(dir, "secret"), "outside", 0o644)
	require.NoError(t, os.Symlink("../../secret", filepath.Join(src, "d/out")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(src, "d/absolute")))
	require.NoError(t, os.Symlink("f", filepath.Join(src, "d/in")))
	require.NoError(t, os.Symlink("..", filepath.Join(src, "d/up")))
	require.NoError(t, unix.Mkfifo(filepath.Join(src, "d/pipe"), 0o600))
	sys, err := openRootFS(src)
	require.NoError(t, err)
	defer sys.Close()
	r, ok := sys.(rootFS)
	require.True(t, ok)

	for rel, want := range map[string]string{"d/f": "inside", "d/in": "inside", "d/up/d/f": "inside"} {
		f := r.openBeneath(rel)
		if f == nil {
			t.Log("this kernel opens no file in one step")
		} else {
			require.NoError(t, f.Close())
		}
		h, err := sys.OpenFile(rel)
		require.NoError(t, err, rel)
		got, err := io.ReadAll(h)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		require.NoError(t, h.Close())
	}
	for _, rel := range []string{"d/out", "d/absolute", "d/up/../secret", "../secret", "/etc/passwd", "d/none"} {
		assert.Nil(t, r.openBeneath(rel), rel)
		_, err := sys.OpenFile(rel)
		require.Error(t, err, rel)
	}
	h, err := sys.OpenFile("d/pipe")
	require.NoError(t, err, "nobody writes into it, and nobody waits")
	require.NoError(t, h.Close())

	// Longer than any path that the kernel takes at once.
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 200)+"/", 25), "/")
	root, err := os.OpenRoot(src)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.MkdirAll(deep, 0o750))
	require.NoError(t, root.WriteFile(deep+"/f", []byte("deep"), 0o600))
	assert.Nil(t, r.openBeneath(deep+"/f"))
	h, err = sys.OpenFile(deep + "/f")
	require.NoError(t, err)
	got, err := io.ReadAll(h)
	require.NoError(t, err)
	assert.Equal(t, "deep", string(got))
	require.NoError(t, h.Close())
}

// Attributes are the same whether a file is asked or its name.
func TestAttributesOfAnOpenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, want := range map[string]bool{"plain": false, "marked": true} {
		path := filepath.Join(dir, name)
		writeFile(t, path, "x", 0o644)
		if want {
			if err := unix.Setxattr(path, "user.note", []byte("x"), 0); err != nil {
				t.Logf("this file system has no attributes: %v", err)
				want = false
			}
		}
		sys, err := openRootFS(dir)
		require.NoError(t, err)
		h, err := sys.OpenFile(name)
		require.NoError(t, err)
		e := extendedOf(h)
		require.NotNil(t, e)
		xattr, acl, err := sys.Extended(name)
		assert.Equal(t, extended{xattr, acl, err}, *e)
		assert.Equal(t, want, e.xattr)
		assert.Nil(t, extendedOf(blindHandle{h}), "one that cannot be asked")
		require.NoError(t, h.Close())
		require.NoError(t, sys.Close())
	}
}

// askingSource counts how often files are asked for their attributes by name.
type askingSource struct {
	sourceFS

	asked *atomic.Int64
}

func (s askingSource) Extended(rel string) (xattr, acl bool, err error) {
	if strings.HasPrefix(rel, "d/") {
		s.asked.Add(1)
	}
	return s.sourceFS.Extended(rel)
}

// What has not been touched since a snapshot that has counted no attributes has none, and is not asked again.
func TestUntouchedFilesAreNotAskedForAttributes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(src, "d", name), name, 0o644)
	}
	probe := filepath.Join(t.TempDir(), "f")
	writeFile(t, probe, "x", 0o644)
	if err := unix.Setxattr(probe, "user.note", []byte("x"), 0); err != nil {
		t.Logf("this file system has no attributes, and nothing is asked: %v", err)
		return
	}
	var asked atomic.Int64
	backup := func(r *Repository) Uploaded {
		asked.Store(0)
		u := uploadOf(src)
		u.wrapFS = func(s sourceFS) sourceFS { return askingSource{s, &asked} }
		up, err := r.Upload(ctx, u)
		require.NoError(t, err)
		return up
	}

	c, _ := created(t, folder(t))
	c.Clock = func() time.Time { return time.Now().Add(2 * time.Hour) } // what is young now is older than an hour then
	c.WorkDir = t.TempDir()
	later, err := Open(ctx, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, later.Close(context.Background())) }()
	up := backup(later)
	assert.Zero(t, asked.Load(), "files are asked while they are open")
	assert.Equal(t, "{}", up.Snapshot.Tags[TagUnstored], "that nothing was missed is said")
	up = backup(later)
	assert.Equal(t, int64(3), up.FilesUnchanged)
	assert.Zero(t, asked.Load(), "they have not been touched since the snapshot that counted none")

	_, now := created(t, folder(t))
	backup(now)
	require.NoError(t, unix.Setxattr(filepath.Join(src, "d/a"), "user.note", []byte("x"), 0))
	for range 2 {
		up = backup(now)
		assert.Equal(t, int64(3), up.FilesUnchanged, "attributes make no file another one")
		assert.Equal(t, int64(3), asked.Load())
		assert.Equal(t, int64(1), up.Unstored.Unsupported["xattr"])
	}
}

func TestSinceWhenFilesArePlain(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	manifest := func(tag, incomplete string) *snapshot.Manifest {
		m := &snapshot.Manifest{StartTime: fs.UTCTimestampFromTime(start), IncompleteReason: incomplete, Tags: map[string]string{}}
		if tag != "" {
			m.Tags[tagPrefix+TagUnstored] = tag
		}
		return m
	}
	for name, tc := range map[string]struct {
		prev []*snapshot.Manifest
		want bool
	}{
		"a first backup knows nothing":                   {nil, false},
		"a snapshot that has counted nothing":            {[]*snapshot.Manifest{manifest("{}", "")}, true},
		"a snapshot that has counted other things":       {[]*snapshot.Manifest{manifest(`{"names":1,"kinds":{"fifo":3}}`, "")}, true},
		"a snapshot with attributes":                     {[]*snapshot.Manifest{manifest(`{"kinds":{"xattr":1}}`, "")}, false},
		"a snapshot with an ACL":                         {[]*snapshot.Manifest{manifest(`{"kinds":{"acl":1}}`, "")}, false},
		"a snapshot of something that does not count":    {[]*snapshot.Manifest{manifest("", "")}, false},
		"a tag of somebody else":                         {[]*snapshot.Manifest{manifest("yes", "")}, false},
		"a checkpoint":                                   {[]*snapshot.Manifest{manifest("{}", "checkpoint")}, false},
		"files may come from a checkpoint after it, too": {[]*snapshot.Manifest{manifest("{}", ""), manifest("", "checkpoint")}, false},
	} {
		got := plainSince(tc.prev)
		assert.Equal(t, tc.want, !got.IsZero(), name)
		if tc.want {
			assert.Equal(t, start.Add(-time.Hour), got.UTC(), name)
		}
	}
}
