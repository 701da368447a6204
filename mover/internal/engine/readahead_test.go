// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kopia/kopia/repo/blob"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kib = 1 << 10

func TestWhatIsReadAhead(t *testing.T) {
	t.Parallel()
	at := func(from, n int64) span { return span{from * kib, (from + n) * kib} }
	for name, tc := range map[string]struct {
		p    *packFile
		want span
		say  step
	}{
		"the first read of a pack asks for itself only":          {&packFile{}, at(0, 4), step{}},
		"what is here is read":                                   {&packFile{have: []span{at(0, 64)}, recent: []int64{0}}, at(8, 4), step{}},
		"a read right after another one looks ahead":             {&packFile{recent: []int64{8 * kib}}, at(8, 4), step{fetch: at(8, 256)}},
		"a read a little before another one as well":             {&packFile{recent: []int64{200 * kib}}, at(8, 4), step{fetch: at(8, 256)}},
		"a read far away does not":                               {&packFile{recent: []int64{8 * kib}}, at(4096, 4), step{}},
		"what begins behind what is here fetches up to the next": {&packFile{have: []span{at(0, 10), at(100, 10)}, recent: []int64{8 * kib}}, at(8, 4), step{fetch: at(8, 92)}},
		"nor is fetched what somebody else is fetching":          {&packFile{coming: []coming{{span: at(64, 256)}}, recent: []int64{8 * kib}}, at(8, 4), step{fetch: at(8, 56)}},
		"a pack that could not be read ahead is left alone":      {&packFile{recent: []int64{8 * kib}, off: true}, at(8, 4), step{}},
		"what is larger than the window is fetched all the same": {&packFile{recent: []int64{8 * kib}}, at(8, 600), step{fetch: at(8, 600)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := tc.p
			p.window = firstWindow
			assert.Equal(t, tc.say, p.next(tc.want))
		})
	}
	p := packFile{window: firstWindow, coming: []coming{{at(0, 64), make(chan struct{})}}}
	assert.NotNil(t, p.next(at(8, 4)).wait, "what somebody else fetches is waited for")
	for range 10 {
		p.remember(0)
		p.next(at(1000, 4))
		p.next(at(1000, 4))
	}
	assert.LessOrEqual(t, p.window, int64(lastWindow))
}

// slowPacks counts what a store is asked for, and fails where it is told to.
type slowPacks struct {
	blob.Storage

	data  map[blob.ID][]byte
	reads atomic.Int64
	bytes atomic.Int64
	fail  func(length int64) error
}

func (s *slowPacks) GetMetadata(_ context.Context, id blob.ID) (blob.Metadata, error) {
	return blob.Metadata{BlobID: id, Length: int64(len(s.data[id]))}, nil
}

func (s *slowPacks) GetBlob(_ context.Context, id blob.ID, offset, length int64, out blob.OutputBuffer) error {
	s.reads.Add(1)
	s.bytes.Add(length)
	out.Reset()
	if s.fail != nil {
		if err := s.fail(length); err != nil {
			_, _ = out.Write([]byte("torn"))
			return err
		}
	}
	d := s.data[id]
	_, err := out.Write(d[offset:min(offset+length, int64(len(d)))])
	return err
}

func (s *slowPacks) Close(context.Context) error { return nil }

func packs(n, size int) *slowPacks {
	rnd := rand.New(rand.NewSource(7))
	s := &slowPacks{data: map[blob.ID][]byte{}}
	for i := range n {
		b := make([]byte, size)
		rnd.Read(b)
		s.data[blob.ID(fmt.Sprintf("p%d", i))] = b
	}
	return s
}

func readPack(t *testing.T, st blob.Storage, below *slowPacks, id blob.ID, off, n int64) {
	t.Helper()
	var out blobBuffer
	defer out.Reset()
	require.NoError(t, st.GetBlob(t.Context(), id, off, n, &out))
	var sb strings.Builder
	_, err := out.WriteTo(&sb)
	require.NoError(t, err)
	require.Equal(t, string(below.data[id][off:off+n]), sb.String(), "%s[%d+%d]", id, off, n)
}

// TestReadAheadIsTrue reads in every order, from many sides, and from more packs than may be kept.
func TestReadAheadIsTrue(t *testing.T) {
	t.Parallel()
	const size, count = 3 << 20, 12
	below := packs(count, size)
	st := readingAhead(below, t.TempDir(), 8<<20)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewSource(int64(w)))
			for range 30 {
				id, off := blob.ID(fmt.Sprintf("p%d", rnd.Intn(count))), int64(rnd.Intn(size))
				for range rnd.Intn(60) {
					n := 1 + rnd.Int63n(20*kib)
					if off+n > size {
						break
					}
					readPack(t, st, below, id, off, n)
					off += n * rnd.Int63n(3) / 2
				}
			}
		})
	}
	wg.Wait()
	st.mu.Lock()
	kept := st.kept
	var really int64
	for _, p := range st.packs {
		really += p.bytes()
	}
	st.mu.Unlock()
	assert.Equal(t, really, kept, "what is kept is counted")
	assert.LessOrEqual(t, kept, int64(8<<20), "and bounded")
	require.NoError(t, st.Close(t.Context()))
	assert.Empty(t, st.packs)
}

// TestReadAheadSavesRequests: what lies side by side is not asked for file by file, and what is scattered costs no more.
func TestReadAheadSavesRequests(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	below := packs(1, size)
	st := readingAhead(below, t.TempDir(), 64<<20)
	for off := int64(0); off+4*kib <= size; off += 4 * kib {
		readPack(t, st, below, "p0", off, 4*kib)
	}
	assert.LessOrEqual(t, below.reads.Load(), int64(12), "4096 files")
	assert.LessOrEqual(t, below.bytes.Load(), int64(size+lastWindow), "and hardly a byte twice")

	below = packs(1, size)
	st = readingAhead(below, t.TempDir(), 64<<20)
	for off := int64(0); off+4*kib <= size; off += 512 * kib {
		readPack(t, st, below, "p0", off, 4*kib)
	}
	assert.Equal(t, int64(size/512), below.bytes.Load()*kib/(4*kib), "scattered reads get what they ask for")

	readPack(t, st, below, "p0", 0, largeRead)
	readPack(t, st, below, "p0", largeRead, largeRead)
	assert.Equal(t, int64(size/512/kib+2), below.reads.Load(), "a large read is one request")
}

// TestReadAheadNeverStandsInTheWay: whatever fails beside the read itself, the answer is the store's own.
func TestReadAheadNeverStandsInTheWay(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	large := func(n int64) error {
		if n > 64*kib {
			return errDown
		}
		return nil
	}
	for name, tc := range map[string]struct {
		fail func(int64) error
		dir  func(dir string) string
	}{
		"the store gives no large parts":      {large, func(d string) string { return d }},
		"there is no folder for what is kept": {nil, func(d string) string { return filepath.Join(d, "none") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			below := packs(1, 1<<20)
			below.fail = tc.fail
			st := readingAhead(below, tc.dir(t.TempDir()), 8<<20)
			for off := int64(0); off < 1<<20; off += 4 * kib {
				readPack(t, st, below, "p0", off, 4*kib)
			}
			assert.LessOrEqual(t, below.reads.Load(), int64(1<<20/(4*kib)+1), "and it is not tried again and again")
		})
	}
	below := packs(1, 1<<20)
	below.fail = func(int64) error { return errDown }
	st := readingAhead(below, t.TempDir(), 8<<20)
	for range 3 {
		require.ErrorIs(t, st.GetBlob(t.Context(), "p0", 0, 10, &blobBuffer{}), errDown)
	}
	// A full disk: the file is there and takes nothing.
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	b := &fileBuffer{f: f}
	n, err := b.Write([]byte("x"))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.Error(t, b.err)
}

// TestRestoreFromAfarReadsAhead restores many small files over HTTP, and leaves nothing in the cache but folders.
func TestRestoreFromAfarReadsAhead(t *testing.T) {
	t.Parallel()
	const files = 600
	ctx := testContext(t)
	var packReads atomic.Int64
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/apps/p") {
				packReads.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	c, r := created(t, Storage{S3: &s})
	src := t.TempDir()
	for i := range files {
		writeFile(t, filepath.Join(src, fmt.Sprintf("d%d", i%7), fmt.Sprintf("f%d", i)), strings.Repeat(fmt.Sprint(i), 500), 0o600)
	}
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)

	c.WorkDir = t.TempDir()
	c.Cache = Cache{Dir: t.TempDir(), ContentBytes: 64 << 20, Once: true}
	// What a mover has left that was killed, and what one that keeps its cache had in it.
	require.NoError(t, os.Symlink(filepath.Join(c.WorkDir, "gone"), filepath.Join(c.Cache.Dir, contentsDir)))
	for range 2 {
		packReads.Store(0)
		again, err := Open(ctx, c)
		require.NoError(t, err)
		snaps, err := again.Load(ctx, up.Snapshot.ID)
		require.NoError(t, err)
		dst := t.TempDir()
		out, err := again.Restore(ctx, snaps, Restore{Target: dst, Parallel: 2, Small: 8, Progress: &Counters{}})
		require.NoError(t, err)
		assert.Equal(t, int64(files), out.Files)
		assert.Equal(t, facts(t, src), facts(t, dst))
		assert.Less(t, packReads.Load(), int64(files/10))
		require.NoError(t, again.Close(ctx))
		_, err = os.Lstat(filepath.Join(c.Cache.Dir, contentsDir))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NoError(t, os.MkdirAll(filepath.Join(c.Cache.Dir, contentsDir, "ab"), 0o700))
	}
	c.Cache.Once = false
	require.NoError(t, os.RemoveAll(filepath.Join(c.Cache.Dir, contentsDir)))
	require.NoError(t, os.Symlink(filepath.Join(c.WorkDir, "gone"), filepath.Join(c.Cache.Dir, contentsDir)))
	again, err := Open(ctx, c)
	require.NoError(t, err, "others open it after a kill as well")
	require.NoError(t, again.Close(ctx))
}
