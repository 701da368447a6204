// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watched is a store that tells of every change, and may refuse it.
type watched struct {
	blob.Storage

	mu     sync.Mutex
	ops    []string
	before func(op string, n int) error
}

func (w *watched) note(op string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops = append(w.ops, op)
	if w.before == nil {
		return nil
	}
	return w.before(op, len(w.ops))
}

func (w *watched) PutBlob(ctx context.Context, id blob.ID, data blob.Bytes, o blob.PutOptions) error {
	if err := w.note("put " + string(id)); err != nil {
		return err
	}
	return w.Storage.PutBlob(ctx, id, data, o)
}

func (w *watched) DeleteBlob(ctx context.Context, id blob.ID) error {
	if err := w.note("delete " + string(id)); err != nil {
		return err
	}
	return w.Storage.DeleteBlob(ctx, id)
}

func mirrorTo(s Storage) Mirror {
	return Mirror{Destination: s, Parallel: 4, Progress: &Counters{}, Log: func(string, string) {}}
}

func (m Mirror) watch(w *watched) Mirror {
	m.wrap = func(st blob.Storage) blob.Storage { w.Storage = st; return w }
	return m
}

// filled is a repository with a few snapshots, so that it has a few packs of each kind. It returns the newest source.
func filled(t *testing.T, s Storage, snapshots int) (Connection, *Repository, string) {
	t.Helper()
	c, r := created(t, s)
	src := t.TempDir()
	for i := range snapshots {
		grow(t, r, src, i)
	}
	return c, r, src
}

func grow(t *testing.T, r *Repository, src string, seed int) Snapshot {
	t.Helper()
	b := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	require.NoError(t, os.WriteFile(filepath.Join(src, fmt.Sprintf("f%d", seed)), b, 0o600))
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	return up.Snapshot
}

// restoresTo proves a copy: it opens with the source's password and gives back every file.
func restoresTo(t *testing.T, c Connection, s Storage, src string, snapshots int) {
	t.Helper()
	ctx := testContext(t)
	c.Storage, c.WorkDir = s, t.TempDir()
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer r.Close(ctx)
	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	require.Len(t, all, snapshots)
	dst := t.TempDir()
	_, err = r.Restore(ctx, all[0], Restore{Target: dst, Parallel: 2, Progress: &Counters{}})
	require.NoError(t, err)
	sameFiles(t, src, dst)
}

func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	for _, dir := range []string{want, got} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			require.NoError(t, err)
			if d.IsDir() {
				return nil
			}
			rel, err := filepath.Rel(dir, path)
			require.NoError(t, err)
			a, err := os.ReadFile(filepath.Join(want, rel))
			require.NoError(t, err)
			b, err := os.ReadFile(filepath.Join(got, rel))
			require.NoError(t, err)
			assert.Equal(t, a, b, rel)
			return nil
		}))
	}
}

// E-11 and the order of things: a copy is a repository when its last blob is there, and not before.
func TestMirrorWritesTheRepositoryLast(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r, src := filled(t, folder(t), 3)
	to := folder(t)
	w := &watched{}
	m := mirrorTo(to).watch(w)
	out, err := r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.True(t, out.Fresh)
	assert.Equal(t, out.Total, out.Copied)
	assert.Equal(t, out.Total.Bytes, m.Progress.Bytes.Load()+formatBytes(t, to), "progress counts what is large")
	restoresTo(t, c, to, src, 3)

	kinds := make([]blobKind, 0, len(w.ops))
	for _, op := range w.ops[1:] {
		kinds = append(kinds, kindOfBlob(blob.ID(op[len("put "):])))
	}
	assert.Equal(t, "put "+string(copyMarkerID), w.ops[0])
	assert.Equal(t, []string{"put " + string(format.KopiaRepositoryBlobID), "delete " + string(copyMarkerID)}, w.ops[len(w.ops)-2:])
	lastPack, firstIndex := 0, len(kinds)
	for i, k := range kinds {
		switch k {
		case blobData:
			lastPack = i
		case blobIndex:
			firstIndex = min(firstIndex, i)
		default:
		}
	}
	assert.Less(t, lastPack, firstIndex, "packs before indexes: %v", w.ops)
	assert.NoFileExists(t, filepath.Join(to.Filesystem.Path, string(copyMarkerID)+".f"))
}

func formatBytes(t *testing.T, s Storage) int64 {
	t.Helper()
	var n int64
	for _, name := range []string{"kopia.repository.f", "kopia.blobcfg.f", "kopia.maintenance.f"} {
		if st, err := os.Stat(filepath.Join(s.Filesystem.Path, name)); err == nil {
			n += st.Size()
		}
	}
	return n
}

// E-11.
func TestMirrorCopiesWhatIsNew(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r, src := filled(t, folder(t), 2)
	to := folder(t)
	first, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)

	again, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	assert.False(t, again.Fresh)
	assert.Zero(t, again.Copied, "nothing changed")
	assert.Equal(t, first.Total, again.Total)

	grow(t, r, src, 7)
	more, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	assert.Positive(t, more.Copied.Blobs)
	assert.Less(t, more.Copied.Blobs, more.Total.Blobs)
	restoresTo(t, c, to, src, 3)

	// A blob that is shorter at the destination is one whose copy was torn.
	var torn string
	require.NoError(t, filepath.WalkDir(to.Filesystem.Path, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(filepath.Dir(path)))[:1] == "p" {
			torn = path
		}
		return err
	}))
	require.NotEmpty(t, torn)
	require.NoError(t, os.Truncate(torn, 10))
	healed, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	assert.Equal(t, int64(1), healed.Copied.Blobs)
	restoresTo(t, c, to, src, 3)
}

func TestMirrorKeepsTimes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from := folder(t)
	_, r, _ := filled(t, from, 1)
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, filepath.WalkDir(from.Filesystem.Path, func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, old, old) //nolint:gosec // nobody else is in a test's own folder
	}))
	to := folder(t)
	m := mirrorTo(to)
	m.Times = true
	_, err := r.Mirror(ctx, m)
	require.NoError(t, err)
	st, err := os.Stat(filepath.Join(to.Filesystem.Path, "kopia.repository.f"))
	require.NoError(t, err)
	assert.True(t, old.Equal(st.ModTime()))

	s, _ := s3Server(t, false, nil)
	m = mirrorTo(Storage{S3: &s})
	m.Times = true
	var said []string
	m.Log = func(_, message string) { said = append(said, message) }
	_, err = r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.Len(t, said, 1, "a store that cannot keep times is no fault, and said once")
}

func TestMirrorDeletesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from, to := folder(t), folder(t)
	c, r, src := filled(t, from, 2)
	_, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	foreign := filepath.Join(to.Filesystem.Path, "notes.f")
	writeFile(t, foreign, "not kopia's", 0o600)
	const stale = "p0123456789abcdef0123456789abcdef-s0123"
	st, err := to.open(ctx)
	require.NoError(t, err)
	b := &blobBuffer{}
	_, _ = b.Write([]byte("stale"))
	require.NoError(t, st.PutBlob(ctx, stale, b, blob.PutOptions{}))

	kept, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	assert.Equal(t, int64(1), kept.Extra)
	assert.Zero(t, kept.Deleted)

	m := mirrorTo(to)
	m.DeleteExtra = true
	out, err := r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.Equal(t, BlobCount{Blobs: 1, Bytes: 5}, out.Deleted)
	assert.FileExists(t, foreign, "what is not kopia's is not deleted")
	restoresTo(t, c, to, src, 2)
}

// The destination may hold the only copy that is left: a pack that an index of the source names is never deleted there,
// whatever was asked for, and nothing else is either.
func TestMirrorDeletesNothingThatTheSourceHasLost(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from, to := folder(t), folder(t)
	c, r, src := filled(t, from, 3)
	_, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	st, err := from.open(ctx)
	require.NoError(t, err)
	packs, err := blob.ListAllBlobs(ctx, st, "p")
	require.NoError(t, err)
	require.NoError(t, st.DeleteBlob(ctx, packs[0].BlobID))

	m := mirrorTo(to)
	m.DeleteExtra = true
	out, err := r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Lost)
	assert.Zero(t, out.Deleted)
	restoresTo(t, c, to, src, 3)
}

// beginCopy leaves what a copy that has begun leaves.
func beginCopy(t *testing.T, s Storage, text string) {
	t.Helper()
	st, err := s.open(t.Context())
	require.NoError(t, err)
	b := &blobBuffer{}
	_, _ = b.Write([]byte(text))
	require.NoError(t, st.PutBlob(t.Context(), copyMarkerID, b, blob.PutOptions{}))
}

// J-11: two repositories never share a place.
func TestMirrorRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(t *testing.T, from, to Storage, m *Mirror)
		want    error
		says    string
	}{
		"another repository in its place": {func(t *testing.T, _, to Storage, _ *Mirror) {
			t.Helper()
			_, _ = created(t, to)
		}, ErrOtherRepository, "holds the repository"},
		"things that are not kopia's": {func(t *testing.T, _, to Storage, _ *Mirror) {
			t.Helper()
			writeFile(t, filepath.Join(to.Filesystem.Path, "cat.jpg"), "meow", 0o600)
		}, ErrOccupied, "cat.jpg"},
		"a repository in ruins": {func(t *testing.T, _, to Storage, _ *Mirror) {
			t.Helper()
			_, _ = created(t, to)
			require.NoError(t, os.Remove(filepath.Join(to.Filesystem.Path, "kopia.repository.f")))
		}, ErrOccupied, ""},
		"the copy of somebody else that has begun": {func(t *testing.T, _, to Storage, _ *Mirror) {
			t.Helper()
			beginCopy(t, to, `{"source":"00ff","mode":"blobs"}`)
		}, ErrOccupied, "00ff"},
		"a copy of another kind that has begun": {func(t *testing.T, from, to Storage, _ *Mirror) {
			t.Helper()
			st, err := from.open(t.Context())
			require.NoError(t, err)
			id, err := uniqueIDAt(t.Context(), st)
			require.NoError(t, err)
			beginCopy(t, to, `{"source":"`+id+`","mode":"snapshots"}`)
		}, ErrOccupied, "has begun"},
		"a mark that is not understood": {func(t *testing.T, _, to Storage, _ *Mirror) {
			t.Helper()
			beginCopy(t, to, "hello")
		}, ErrOccupied, "not understood"},
		"an empty place where a copy must exist": {func(_ *testing.T, _, _ Storage, m *Mirror) { m.MustExist = true }, ErrNotInitialized, ""},
		"a place that does not exist":            {func(_ *testing.T, _, to Storage, _ *Mirror) { to.Filesystem.Path += "/missing" }, ErrLocationMissing, ""},
		"the source itself":                      {func(_ *testing.T, from, to Storage, _ *Mirror) { to.Filesystem.Path = from.Filesystem.Path + "/." }, ErrInvalidOption, "not apart"},
		"a folder in the source": {func(t *testing.T, from, to Storage, _ *Mirror) {
			t.Helper()
			to.Filesystem.Path = filepath.Join(from.Filesystem.Path, "copy")
			require.NoError(t, os.Mkdir(to.Filesystem.Path, 0o700))
		}, ErrInvalidOption, "not apart"},
		"the source by another name": {func(t *testing.T, from, to Storage, _ *Mirror) {
			t.Helper()
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(from.Filesystem.Path, link))
			to.Filesystem.Path = link
		}, ErrInvalidOption, "not apart"},
		"a source whose data is gone": {func(t *testing.T, from, _ Storage, _ *Mirror) {
			t.Helper()
			entries, err := os.ReadDir(from.Filesystem.Path)
			require.NoError(t, err)
			for _, e := range entries {
				if e.IsDir() {
					require.NoError(t, os.RemoveAll(filepath.Join(from.Filesystem.Path, e.Name())))
				}
			}
		}, ErrSourceEmpty, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := folder(t), folder(t)
			_, r, _ := filled(t, from, 1)
			m := mirrorTo(to)
			m.DeleteExtra = true
			tc.arrange(t, from, to, &m)
			var before map[string]int64
			if !errors.Is(tc.want, ErrLocationMissing) {
				before = tree(t, to.Filesystem.Path)
			}
			_, err := r.Mirror(testContext(t), m)
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, tc.says)
			if !errors.Is(tc.want, ErrLocationMissing) {
				assert.Equal(t, before, tree(t, to.Filesystem.Path), "nothing was touched")
			}
		})
	}
}

// An existing copy is never brought to the state of a source that lost everything.
func TestAnEmptySourceEmptiesNoCopy(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from, to := folder(t), folder(t)
	c, r, src := filled(t, from, 1)
	_, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	st, err := from.open(ctx)
	require.NoError(t, err)
	for _, prefix := range []blob.ID{"p", "q", "x"} {
		all, err := blob.ListAllBlobs(ctx, st, prefix)
		require.NoError(t, err)
		for _, b := range all {
			require.NoError(t, st.DeleteBlob(ctx, b.BlobID))
		}
	}
	m := mirrorTo(to)
	m.DeleteExtra = true
	_, err = r.Mirror(ctx, m)
	require.ErrorIs(t, err, ErrSourceEmpty)
	restoresTo(t, c, to, src, 1)
}

// Every write of a fresh copy fails once. What is there then is no repository, is nobody else's, and is gone on with.
func TestMirrorGoesOnWhereItWasEnded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r, src := filled(t, folder(t), 2)
	_, other, _ := filled(t, folder(t), 1)
	boom := errors.New("boom")
	for n := 1; ; n++ {
		to := folder(t)
		w := &watched{before: func(_ string, i int) error {
			if i >= n {
				return boom
			}
			return nil
		}}
		m := mirrorTo(to).watch(w)
		m.Parallel = 1
		_, err := r.Mirror(ctx, m)
		if err == nil {
			require.Greater(t, n, 6, "there are more writes than that")
			break
		}
		require.ErrorIs(t, err, boom)
		require.ErrorContains(t, err, "at the destination")
		at := c
		at.Storage, at.WorkDir = to, t.TempDir()
		marker := filepath.Join(to.Filesystem.Path, string(copyMarkerID)+".f")
		if n > 1 {
			require.FileExists(t, marker)
			_, err = other.Mirror(ctx, mirrorTo(to))
			require.Error(t, err, "somebody else's copy is refused after write %d", n-1)
			err = Create(ctx, at, CreateOptions{})
			if w.ops[len(w.ops)-1] != "delete "+string(copyMarkerID) {
				require.ErrorIs(t, err, ErrOccupied, "nobody creates a repository in it")
				_, err = Open(ctx, at)
				require.ErrorIs(t, err, ErrOccupied)
			}
		}
		out, err := r.Mirror(ctx, mirrorTo(to))
		require.NoError(t, err, "after write %d", n-1)
		assert.Equal(t, n > 1, out.Resumed)
		assert.Equal(t, n == 1, out.Fresh)
		if n > 2 {
			assert.Less(t, out.Copied.Blobs, out.Total.Blobs, "what was there is not copied again")
		}
		assert.NoFileExists(t, marker)
		restoresTo(t, c, to, src, 2)
	}
}

func TestMirrorEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	c, r, src := filled(t, folder(t), 3)
	to := folder(t)
	ctx, cancel := context.WithCancel(testContext(t))
	m := mirrorTo(to).watch(&watched{before: func(_ string, n int) error {
		if n == 3 {
			cancel()
		}
		return nil
	}})
	_, err := r.Mirror(ctx, m)
	require.ErrorIs(t, err, context.Canceled)
	out, err := r.Mirror(testContext(t), mirrorTo(to))
	require.NoError(t, err)
	assert.True(t, out.Resumed)
	restoresTo(t, c, to, src, 3)
}

// Others write while a copy is made, and a maintenance removes what it has rewritten.
func TestMirrorBesideOthersWork(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from, to := folder(t), folder(t)
	c, r, src := filled(t, from, 2)
	st, err := from.open(ctx)
	require.NoError(t, err)

	// A pack that nothing names any more vanishes after it was listed.
	const doomed = "p0123456789abcdef0123456789abcdef-s0123"
	b := &blobBuffer{}
	_, _ = b.Write([]byte("rewritten elsewhere"))
	require.NoError(t, st.PutBlob(ctx, doomed, b, blob.PutOptions{}))
	w := &watched{before: func(op string, n int) error {
		if n == 1 {
			grow(t, r, src, 9)
			return st.DeleteBlob(ctx, doomed)
		}
		return nil
	}}
	var said []string
	m := mirrorTo(to).watch(w)
	m.Log = func(_, message string) { said = append(said, message) }
	_, err = r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.Len(t, said, 1)
	restoresTo(t, c, to, src, 3)

	// Where blobs keep vanishing the copy gives up, to be tried again later.
	n := 0
	again := func() {
		n++
		b := &blobBuffer{}
		_, _ = b.Write([]byte("x"))
		require.NoError(t, st.PutBlob(ctx, blob.ID(fmt.Sprintf("p%032x", n)), b, blob.PutOptions{}))
		require.NoError(t, st.PutBlob(ctx, blob.ID(fmt.Sprintf("p%032x", 1000+n)), b, blob.PutOptions{}))
	}
	again()
	m = mirrorTo(to).watch(&watched{before: func(op string, _ int) error {
		require.NoError(t, st.DeleteBlob(ctx, blob.ID(fmt.Sprintf("p%032x", 1000+n))))
		again()
		return nil
	}})
	m.Parallel, m.MaxInFlight = 1, 1
	_, err = r.Mirror(ctx, m)
	require.ErrorIs(t, err, ErrSource)
	require.ErrorContains(t, err, "a maintenance is at work")
}

// E-10: both ends keep to their limits.
func TestMirrorIsThrottledAtBothEnds(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from := folder(t)
	c, r, src := filled(t, from, 1)
	b := make([]byte, 900<<10)
	_, _ = rand.NewChaCha8([32]byte{42}).Read(b)
	require.NoError(t, os.WriteFile(filepath.Join(src, "large"), b, 0o600))
	_, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)

	// A bucket begins with six seconds' worth, the rest has to wait.
	const limit = 100 << 10
	took := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	assert.Greater(t, took(func() {
		m := mirrorTo(folder(t))
		m.Throttle.UploadBytesPerSecond = limit
		_, err := r.Mirror(ctx, m)
		require.NoError(t, err)
	}), 2*time.Second, "the destination's")

	c.WorkDir, c.Throttle.DownloadBytesPerSecond = t.TempDir(), limit
	slow, err := Open(ctx, c)
	require.NoError(t, err)
	defer slow.Close(ctx)
	assert.Greater(t, took(func() {
		_, err := slow.Mirror(ctx, mirrorTo(folder(t)))
		require.NoError(t, err)
	}), 2*time.Second, "the source's")
}

// Memory is bounded by bytes, not by the number of those who copy: blobs that were read wait for room to be written.
func TestMirrorHoldsFewBytes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from := folder(t)
	_, r, _ := filled(t, from, 1)
	st, err := from.open(ctx)
	require.NoError(t, err)
	const size = 100 << 10
	b := &blobBuffer{}
	_, _ = b.Write(make([]byte, size))
	for i := range 40 {
		require.NoError(t, st.PutBlob(ctx, blob.ID(fmt.Sprintf("p%032x", i)), b, blob.PutOptions{}))
	}
	var writing, most atomic.Int64
	m := mirrorTo(folder(t))
	m.Parallel, m.MaxInFlight = 16, 3*size+size/2
	m.wrap = func(st blob.Storage) blob.Storage {
		return &counted{Storage: st, writing: &writing, most: &most}
	}
	_, err = r.Mirror(ctx, m)
	require.NoError(t, err)
	assert.LessOrEqual(t, most.Load(), int64(4*size), "with sixteen who copy")
	assert.Greater(t, most.Load(), int64(size))
}

// counted tells how many bytes are being written at the same time.
type counted struct {
	blob.Storage

	writing, most *atomic.Int64
}

func (c *counted) PutBlob(ctx context.Context, id blob.ID, data blob.Bytes, o blob.PutOptions) error {
	n := c.writing.Add(int64(data.Length()))
	defer c.writing.Add(-int64(data.Length()))
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	<-time.After(2 * time.Millisecond)
	return c.Storage.PutBlob(ctx, id, data, o)
}

func TestMirrorOfAChangedPassword(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	from, to := folder(t), folder(t)
	c, r, src := filled(t, from, 1)
	_, err := r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	require.NoError(t, r.rep.FormatManager().ChangePassword(ctx, "another password"))
	m := mirrorTo(to)
	m.KeepOlder = true
	_, err = r.Mirror(ctx, m)
	require.NoError(t, err)
	restoresTo(t, c, to, src, 1)

	_, err = r.Mirror(ctx, mirrorTo(to))
	require.NoError(t, err)
	c.Password = "another password"
	restoresTo(t, c, to, src, 1)
}

func TestKindOfBlob(t *testing.T) {
	t.Parallel()
	const hex = "0123456789abcdef0123456789abcdef"
	for id, want := range map[blob.ID]blobKind{
		"p" + hex + "-s0123": blobData, "q" + hex: blobData, "n" + hex: blobIndex, "m" + hex: blobIndex, "l" + hex: blobIndex,
		"xn0_" + hex + "-s01-c1": blobIndex, "xe1": blobIndex, "xs3_" + hex: blobIndex, "xr0_9_" + hex: blobIndex, "xw1700000000": blobIndex,
		"s0123456789abcdef0123": blobSession, "_log_2026": blobLog,
		"kopia.repository": blobFormat, "kopia.blobcfg": blobFormat, "kopia.maintenance": blobFormat, "kopia.repository.backup.me": blobFormat,
		"": blobForeign, "p": blobForeign, "photos/": blobForeign, "p" + hex + "/x": blobForeign, "x": blobForeign, "xn": blobForeign, "xylophone": blobForeign,
		"passwords": blobForeign, "notes": blobForeign, "kopia.toml": blobForeign, copyMarkerID: blobForeign, "p" + "G" + hex: blobForeign, "_": blobForeign,
	} {
		if id == "xn" {
			want = blobForeign
		}
		assert.Equal(t, want, kindOfBlob(id), id)
	}
}

func TestBlobBuffer(t *testing.T) {
	t.Parallel()
	want := make([]byte, 3*chunkBytes+17)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(want)
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, len(want)} {
		b := &blobBuffer{}
		for part := range slices.Chunk(want[:size], 100_001) {
			_, err := b.Write(part)
			require.NoError(t, err)
		}
		assert.Equal(t, size, b.Length())
		got, err := readAllOf(b)
		require.NoError(t, err)
		assert.Equal(t, want[:size], got)
		b.Reset()
		assert.Zero(t, b.Length())
		got, err = readAllOf(b)
		require.NoError(t, err)
		assert.Empty(t, got)
	}
}

func readAllOf(b *blobBuffer) ([]byte, error) {
	r := b.Reader()
	defer r.Close()
	first, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	second, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(first, second) {
		return nil, fmt.Errorf("read again: %w", err)
	}
	var third bytes.Buffer
	if _, err := b.WriteTo(&third); err != nil || !bytes.Equal(first, third.Bytes()) {
		return nil, fmt.Errorf("write: %w", err)
	}
	return first, nil
}
