// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	kopiafs "github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// fact is all that a restore promises about one entry.
type fact struct {
	mode     fs.FileMode
	uid, gid uint32
	mtime    time.Time
	content  string
}

func facts(t *testing.T, dir string) map[string]fact {
	t.Helper()
	out := map[string]fact{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		own, ok := st.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		f := fact{mode: st.Mode(), uid: own.Uid, gid: own.Gid, mtime: st.ModTime()}
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p) //nolint:gosec // nobody else is in a test's own folder
			if err != nil {
				return err
			}
			f.content = string(b)
		case st.Mode()&os.ModeSymlink != 0:
			if f.content, err = os.Readlink(p); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = f
		return err
	}))
	return out
}

// volume fills a folder with all that a volume may hold, owners included where this process may set them.
func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	rnd := rand.New(rand.NewSource(1))
	for i, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20, 1<<20 + 1, 5 << 20} {
		b := make([]byte, size)
		rnd.Read(b)
		writeFile(t, filepath.Join(dir, "d", string(rune('a'+i)), "file"), string(b), fs.FileMode(0o400+0o11*i))
	}
	writeFile(t, filepath.Join(dir, "suid"), "#!", 0o755|os.ModeSetuid)
	writeFile(t, filepath.Join(dir, "sgid"), "#!", 0o755|os.ModeSetgid)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "drop"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "drop"), 0o777|os.ModeSticky))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	require.NoError(t, os.Symlink("d/a/file", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outward")))
	require.NoError(t, os.Symlink("no\xff-where", filepath.Join(dir, "dangling")))
	if os.Geteuid() == 0 {
		for name, id := range map[string]int{"d/a/file": 1000, "d/a": 1001, "link": 1002, "suid": 1003, "sgid": 1004, "drop": 1005} {
			st, err := os.Lstat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.NoError(t, os.Lchown(filepath.Join(dir, name), id, id+1))
			if st.Mode()&os.ModeSymlink == 0 {
				require.NoError(t, os.Chmod(filepath.Join(dir, name), st.Mode())) // chown cleared the set-id bits
			}
		}
	}
	n := int64(0)
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		all = append(all, p)
		return err
	}))
	for _, a := range slices.Backward(all) {
		n++
		ts := unix.NsecToTimespec(time.Date(2021, 1, 1, 0, 0, int(n), 123456789, time.UTC).UnixNano())
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, a, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
	return dir
}

// restored stores a folder and writes it into dst.
func restored(t *testing.T, src string, o Restore) (Restored, error) {
	t.Helper()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	require.Zero(t, up.Unstored.Unreadable)
	o.Progress = &Counters{}
	return r.Restore(ctx, up.Snapshot, o)
}

func TestRestoreBringsBackEverything(t *testing.T) {
	t.Parallel()
	src := volume(t)
	_, r := created(t, folder(t))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	for name, o := range map[string]Restore{
		"alone":            {},
		"in parallel":      {Parallel: 8},
		"in place":         {InPlace: true, Parallel: 2},
		"with holes":       {Sparse: true},
		"over itself":      {DeleteExtra: true, Parallel: 4},
		"on a second try":  {SkipExisting: true},
		"in place, sparse": {InPlace: true, Sparse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Target, o.Progress = t.TempDir(), &Counters{}
			for range 2 { // the second time over what is there
				out, err := r.Restore(testContext(t), up.Snapshot, o)
				require.NoError(t, err)
				assert.Empty(t, out.Ownership.Paths)
				want := facts(t, src)
				assert.Equal(t, int64(len(want)), out.Ownership.Applied)
				got := facts(t, o.Target)
				for p, f := range want {
					assert.Equal(t, f.content, got[p].content, p)
					assert.Equal(t, f.mode, got[p].mode, p)
					assert.Equal(t, []uint32{f.uid, f.gid}, []uint32{got[p].uid, got[p].gid}, p)
					assert.True(t, f.mtime.Equal(got[p].mtime), "%s: %s is not %s", p, got[p].mtime, f.mtime)
				}
				assert.Len(t, got, len(want))
			}
		})
	}
}

func TestRestoreSparse(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	f, err := os.Create(filepath.Join(src, "image"))
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("head"), 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("tail"), 8<<20)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(16<<20))
	require.NoError(t, f.Close())
	dst := t.TempDir()
	_, err = restored(t, src, Restore{Target: dst, Sparse: true})
	require.NoError(t, err)
	st, err := os.Stat(filepath.Join(dst, "image"))
	require.NoError(t, err)
	own, ok := st.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	assert.Equal(t, int64(16<<20), st.Size())
	assert.Less(t, own.Blocks*512, int64(1<<20), "holes take no space")
	want, err := os.ReadFile(filepath.Join(src, "image"))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(dst, "image"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got))
}

func TestRestoreDeletesOnlyInsideTheTarget(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "keep/a"), "new", 0o644)
	writeFile(t, filepath.Join(src, "was-a-folder"), "file now", 0o644)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "precious/file"), "precious", 0o644)
	dst := t.TempDir()
	writeFile(t, filepath.Join(dst, "extra/deep/file"), "old", 0o644)
	writeFile(t, filepath.Join(dst, "keep/extra"), "old", 0o644)
	writeFile(t, filepath.Join(dst, "was-a-folder/inner"), "old", 0o644)
	require.NoError(t, os.Mkdir(filepath.Join(dst, "lost+found"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dst, "out")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dst, "extra/out")))

	_, err := restored(t, src, Restore{Target: dst})
	require.ErrorIs(t, err, fs.ErrExist, "a folder is not replaced by a file without a word")

	out, err := restored(t, src, Restore{Target: dst, DeleteExtra: true})
	require.NoError(t, err)
	assert.Equal(t, int64(4), out.Deleted)
	var names []string
	for p := range facts(t, dst) {
		names = append(names, p)
	}
	assert.ElementsMatch(t, []string{".", "keep", "keep/a", "was-a-folder", "lost+found"}, names)
	assert.FileExists(t, filepath.Join(outside, "precious/file"))
}

// What the target holds, and what the snapshot says, may come from somebody else. Neither leads out of the target.
func TestRestoreStaysInsideTheTarget(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "dir/file"), "new", 0o644)
	writeFile(t, filepath.Join(src, "file"), "new", 0o644)
	for name, o := range map[string]Restore{
		"whole files": {}, "in place": {InPlace: true}, "going on": {SkipExisting: true}, "keeping links": {KeepLinks: true}, "deleting": {DeleteExtra: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, dst := t.TempDir(), t.TempDir()
			writeFile(t, filepath.Join(outside, "file"), "precious", 0o644)
			require.NoError(t, os.Symlink(outside, filepath.Join(dst, "dir")))
			require.NoError(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(dst, "file")))
			o.Target = dst
			_, err := restored(t, src, o)
			if o.KeepLinks {
				require.ErrorIs(t, err, fs.ErrExist)
			} else {
				require.NoError(t, err)
				b, err := os.ReadFile(filepath.Join(dst, "dir/file"))
				require.NoError(t, err)
				assert.Equal(t, "new", string(b))
				st, err := os.Lstat(filepath.Join(dst, "dir"))
				require.NoError(t, err)
				assert.True(t, st.IsDir(), "the link gave way to the folder")
			}
			b, err := os.ReadFile(filepath.Join(outside, "file"))
			require.NoError(t, err)
			assert.Equal(t, "precious", string(b))
		})
	}
}

// forged stores a folder as no upload would. Links lead away, files hold something, folders one such file.
func forged(t *testing.T, r *Repository, away string, entries []*snapshot.DirEntry) Snapshot {
	t.Helper()
	ctx := testContext(t)
	m := &snapshot.Manifest{Source: webData.source(), StartTime: kopiafs.UTCTimestampFromTime(time.Now())}
	require.NoError(t, r.write(ctx, "forge", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		put := func(prefix string, b []byte) object.ID {
			ow := w.NewObjectWriter(ctx, object.WriterOptions{Prefix: "k"})
			if prefix == "" {
				ow = w.NewObjectWriter(ctx, object.WriterOptions{})
			}
			defer ow.Close()
			_, err := ow.Write(b)
			require.NoError(t, err)
			id, err := ow.Result()
			require.NoError(t, err)
			return id
		}
		file := put("", []byte("evil"))
		of := func(entries ...*snapshot.DirEntry) object.ID {
			b, err := json.Marshal(snapshot.DirManifest{StreamType: dirStream, Entries: entries})
			require.NoError(t, err)
			return put("k", b)
		}
		for _, e := range entries {
			switch e.Type {
			case snapshot.EntryTypeDirectory:
				e.ObjectID = of(&snapshot.DirEntry{Name: "file", Type: snapshot.EntryTypeFile, FileSize: 4, ObjectID: file, Permissions: 0o600})
			case snapshot.EntryTypeSymlink:
				e.ObjectID = put("", []byte(filepath.Join(away, e.Name)))
			default:
				e.FileSize, e.ObjectID = 4, file
			}
		}
		m.RootEntry = &snapshot.DirEntry{Name: "root", Type: snapshot.EntryTypeDirectory, Permissions: 0o700, ObjectID: of(entries...)}
		_, err := snapshot.SaveSnapshot(ctx, w, m)
		return err
	}))
	return snapshotOf(m)
}

func TestRestoreGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	src, dst := t.TempDir(), t.TempDir()
	for _, n := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(src, n), strings.Repeat(n, 100), 0o644)
	}
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(src, "a"), old, old))
	require.NoError(t, os.Chtimes(filepath.Join(src, "b"), old, old))
	// What a killed restore leaves: one whole file, one of the right size that is not whole, one part.
	writeFile(t, filepath.Join(dst, "a"), strings.Repeat("a", 100), 0o600)
	require.NoError(t, os.Chtimes(filepath.Join(dst, "a"), old, old))
	writeFile(t, filepath.Join(dst, "b"), strings.Repeat("?", 100), 0o600)
	writeFile(t, filepath.Join(dst, partName("c", nil)), "ccc", 0o600)

	out, err := restored(t, src, Restore{Target: dst, SkipExisting: true})
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Skipped)
	assert.Equal(t, int64(2), out.Files)
	got := facts(t, dst)
	assert.Len(t, got, 4, "no part is left")
	for p, f := range facts(t, src) {
		assert.Equal(t, f.content, got[p].content, p)
		assert.Equal(t, f.mode, got[p].mode, "%s: what was skipped still gets its mode", p)
	}
}

func TestRestoreKeepsWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "dir/file"), "new", 0o644)
	require.NoError(t, os.Symlink("new", filepath.Join(src, "link")))
	for name, tc := range map[string]struct {
		o    Restore
		have string
	}{
		"files":   {Restore{KeepFiles: true}, "dir/file"},
		"folders": {Restore{KeepDirectories: true}, "dir/other"},
		"links":   {Restore{KeepLinks: true}, "link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dst := t.TempDir()
			if tc.have == "link" {
				require.NoError(t, os.Symlink("old", filepath.Join(dst, "link")))
			} else {
				writeFile(t, filepath.Join(dst, tc.have), "old", 0o644)
			}
			tc.o.Target = dst
			_, err := restored(t, src, tc.o)
			require.ErrorIs(t, err, fs.ErrExist)
			require.ErrorIs(t, err, ErrTarget)

			tc.o.IgnoreErrors = true
			out, err := restored(t, src, tc.o)
			require.NoError(t, err)
			assert.Positive(t, out.Failed, "counted instead")
			require.NotEmpty(t, out.Faults)
		})
	}
}

// F-1.
func TestRestoreByAnotherUidCountsWhatItCannotSet(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "suid"), "#!", 0o755|os.ModeSetuid)
	writeFile(t, filepath.Join(src, "mine"), "x", 0o640)
	ctx := testContext(t)
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	// As if it had been stored by root: another owner than this process may set.
	s := up.Snapshot
	s.manifest = foreign(t, r, s.manifest, 4242)
	dst := t.TempDir()
	out, err := r.Restore(ctx, s, Restore{Target: dst, Progress: &Counters{}})
	require.NoError(t, err, "the data is there")
	assert.Equal(t, int64(3), out.Ownership.Failed)
	assert.Len(t, out.Ownership.Paths, 3)
	st, err := os.Stat(filepath.Join(dst, "suid"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o755), st.Mode(), "a set-id bit would now hand out other rights")

	dst = t.TempDir()
	out, err = r.Restore(ctx, s, Restore{Target: dst, SkipOwners: true, Progress: &Counters{}})
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Ownership.Failed, "only the dropped set-id bit")
	assert.Equal(t, "suid", out.Ownership.Paths[0].Path)
}

// foreign rewrites the root folder of a manifest with another owner.
func foreign(t *testing.T, r *Repository, m *snapshot.Manifest, uid uint32) *snapshot.Manifest {
	t.Helper()
	ctx := testContext(t)
	entries, err := r.readDir(ctx, m.RootEntry)
	require.NoError(t, err)
	for _, e := range entries {
		e.UserID, e.GroupID = uid, uid
	}
	out := m.Clone()
	out.RootEntry.UserID, out.RootEntry.GroupID = uid, uid
	require.NoError(t, r.write(ctx, "forge", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		b, err := json.Marshal(snapshot.DirManifest{StreamType: dirStream, Entries: entries})
		require.NoError(t, err)
		ow := w.NewObjectWriter(ctx, object.WriterOptions{Prefix: "k"})
		defer ow.Close()
		if _, err := ow.Write(b); err != nil {
			return err
		}
		out.RootEntry.ObjectID, err = ow.Result()
		return err
	}))
	return out
}
