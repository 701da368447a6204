// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/repo/splitter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// extent is a run of bytes: data made from a seed, or a hole.
type extent struct {
	hole bool
	n    int
	seed int
}

// drawExtents makes up a file of at most limit bytes around a splitter's sizes.
func drawExtents(random *rand.Rand, period, limit int) []extent {
	var out []extent
	for total := 0; total < limit && len(out) < 12; {
		var n int
		switch random.IntN(5) {
		case 0:
			n = 1 + random.IntN(200)
		case 1:
			n = 1 + random.IntN(period)
		case 2:
			n = period
		case 3:
			n = 2*period + random.IntN(3) - 1
		default:
			n = 1 + random.IntN(6*period)
		}
		out = append(out, extent{hole: random.IntN(2) == 0, n: n, seed: random.IntN(4)})
		total += n
	}
	return out
}

func (e extent) bytes() []byte {
	b := make([]byte, e.n)
	if !e.hole {
		fillRandom(b, e.seed)
		clear(b[len(b)/2 : len(b)/2+min(len(b)/4, 3000)]) // data has zeros, too
	}
	return b
}

// The object is the very one that kopia's own writer makes of the same bytes, whatever the splitter, and wherever the
// holes lie.
func TestAHoleMakesTheObjectThatItsZerosWouldMake(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	require.NoError(t, repo.WriteSession(ctx, r.rep, repo.WriteSessionOptions{}, func(ctx context.Context, w repo.RepositoryWriter) error {
		for name, runs := range map[string]int{
			"FIXED-128K": 6, "DYNAMIC-128K-BUZHASH": 6, "DYNAMIC-128K-RABINKARP": 6, "FIXED": 1, "no such": 1, DefaultSplitter: 1,
			"DYNAMIC-8M-RABINKARP": 1, // its chunks are larger than what is kept whole by itself
		} {
			random := rand.New(rand.NewPCG(7, uint64(len(name))))
			f := splitter.GetFactory(name)
			if f == nil {
				f = splitter.GetFactory(DefaultSplitter)
			}
			s := f()
			period := cutOfZeros(s)
			s.Close()
			for range runs {
				extents := drawExtents(random, period, 4*period)
				for _, compressor := range []string{"", "zstd-fastest"}[:1+random.IntN(2)] {
					sameObject(ctx, t, w, object.WriterOptions{
						Splitter: name, Compressor: compressorNamed(compressor), MetadataCompressor: metadataCompressor, AsyncWrites: random.IntN(3),
					}, extents, random)
				}
			}
		}
		return nil
	}))
}

func sameObject(ctx context.Context, t *testing.T, w repo.RepositoryWriter, o object.WriterOptions, extents []extent, random *rand.Rand) {
	t.Helper()
	plain := w.NewObjectWriter(ctx, o)
	defer plain.Close()
	sparse := newHoleWriter(ctx, w, o, DefaultSplitter)
	defer sparse.Close()
	for _, e := range extents {
		b := e.bytes()
		_, err := plain.Write(b)
		require.NoError(t, err)
		for len(b) > 0 {
			n := min(len(b), 1+random.IntN(300_000))
			if e.hole {
				sparse.writeHole(n)
			} else {
				_, err := sparse.Write(b[:n])
				require.NoError(t, err)
			}
			b = b[n:]
		}
		if random.IntN(8) == 0 {
			_, err := sparse.Checkpoint()
			require.NoError(t, err)
		}
	}
	want, err := plain.Result()
	require.NoError(t, err)
	got, err := sparse.Result()
	require.NoError(t, err)
	require.Equal(t, want, got, "%s: %+v", o.Splitter, extents)
}

// blindSource hides that files have holes.
type blindSource struct{ sourceFS }

type blindHandle struct{ sourceHandle }

func (s blindSource) OpenFile(rel string) (sourceHandle, error) {
	h, err := s.sourceFS.OpenFile(rel)
	return blindHandle{h}, err
}

// countingSource counts what is read of files that have holes.
type countingSource struct {
	sourceFS

	read *atomic.Int64
}

type countingHandle struct {
	*os.File

	read *atomic.Int64
}

func (h countingHandle) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.File.ReadAt(p, off)
	h.read.Add(int64(n))
	return n, err
}

func (s countingSource) OpenFile(rel string) (sourceHandle, error) {
	h, err := s.sourceFS.OpenFile(rel)
	if err != nil {
		return nil, err
	}
	f, ok := h.(*os.File)
	if !ok {
		return nil, fmt.Errorf("%s is no file: %w", rel, os.ErrInvalid)
	}
	return countingHandle{f, s.read}, nil
}

// sparseFileOf writes extents, and nothing where there is a hole.
func sparseFileOf(t *testing.T, path string, extents []extent) (data int64) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	var off int64
	for _, e := range extents {
		if !e.hole {
			_, err := f.WriteAt(e.bytes(), off)
			require.NoError(t, err)
			data += int64(e.n)
		}
		off += int64(e.n)
	}
	require.NoError(t, f.Truncate(off))
	return data
}

// Two backups of one file, of which one does not know that it has holes, are one object. Nobody reads a hole.
func TestASparseFileIsStoredLikeADenseOne(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	var data int64
	for name, extents := range map[string][]extent{
		"image":           {{hole: true, n: 20_000_001}, {n: 3_000_000}, {hole: true, n: 40_000_007}, {n: 1}, {hole: true, n: 10_000_000}},
		"begins":          {{n: 70_000}, {hole: true, n: 15_000_000}, {n: 9_000_000}},
		"nothing but one": {{hole: true, n: 24 << 20}},
		"many":            {{n: 1_000_000}, {hole: true, n: 5_000_000}, {n: 77}, {hole: true, n: 5_000_000}, {n: 2_000_000}, {hole: true, n: 9_999_999}},
	} {
		data += sparseFileOf(t, filepath.Join(src, name), extents)
	}
	_, r := created(t, folder(t))

	u := uploadOf(src)
	var read atomic.Int64
	u.wrapFS = func(s sourceFS) sourceFS { return countingSource{s, &read} }
	sparse, err := r.Upload(ctx, u)
	require.NoError(t, err)
	assert.LessOrEqual(t, read.Load(), data+20*minHole, "what is read is the data, and the blocks at its ends")
	assert.Positive(t, read.Load())

	u = uploadOf(src)
	u.Identity.Path = "/again" // nothing is known of it, so everything is read
	u.wrapFS = func(s sourceFS) sourceFS { return blindSource{s} }
	dense, err := r.Upload(ctx, u)
	require.NoError(t, err)
	assert.Equal(t, dense.Snapshot.manifest.RootObjectID(), sparse.Snapshot.manifest.RootObjectID())
	assert.Equal(t, dense.BytesHashed, sparse.BytesHashed)
	assert.Equal(t, dense.Snapshot.Size, sparse.Snapshot.Size)

	dst := t.TempDir()
	_, err = r.Restore(ctx, sparse.Snapshot, Restore{Target: dst, Parallel: 2, Sparse: true, Progress: &Counters{}})
	require.NoError(t, err)
	assertSameBytes(t, src, dst)
}

func assertSameBytes(t *testing.T, want, got string) {
	t.Helper()
	names, err := os.ReadDir(want)
	require.NoError(t, err)
	for _, n := range names {
		a, err := os.ReadFile(filepath.Join(want, n.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, n.Name()))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), "%s differs", n.Name())
	}
}

// A file in parts: every part is read through an own descriptor, from the middle of the file.
func TestAPartOfASparseFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	sparseFileOf(t, path, []extent{{n: 100_000}, {hole: true, n: 8 << 20}, {n: 5000}})
	f, err := os.Open(path)
	require.NoError(t, err)
	var all holes
	st, err := f.Stat()
	require.NoError(t, err)
	h := all.withHoles(f, st)
	require.IsType(t, &holeReader{}, h)
	require.True(t, all.any())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, off := range []int64{0, 99_999, 100_001, 4 << 20, 8<<20 + 100_000, 8<<20 + 104_000, 9 << 20} {
		at, err := h.Seek(off, io.SeekStart)
		require.NoError(t, err)
		assert.Equal(t, off, at)
		got, err := io.ReadAll(h)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(whole[min(off, int64(len(whole))):], got), "from %d", off)
	}
	require.NoError(t, h.Close())
	require.Error(t, h.Close())
	assert.False(t, all.any())
}

func TestWhichFilesAreAskedForHoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(name string) (*os.File, os.FileInfo) {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		st, err := f.Stat()
		require.NoError(t, err)
		return f, st
	}
	sparseFileOf(t, filepath.Join(dir, "dense"), []extent{{n: 8 << 20}})
	sparseFileOf(t, filepath.Join(dir, "small"), []extent{{hole: true, n: 1 << 20}})
	sparseFileOf(t, filepath.Join(dir, "sparse"), []extent{{hole: true, n: 8 << 20}})
	var all holes
	for _, name := range []string{"dense", "small"} {
		f, st := open(name)
		assert.Equal(t, sourceHandle(f), all.withHoles(f, st), name)
	}
	f, st := open("sparse")
	assert.IsType(t, &holeReader{}, all.withHoles(f, st))
	assert.IsType(t, blindHandle{}, all.withHoles(blindHandle{f}, st), "one that cannot be asked")
	proc, err := os.Open("/proc/self/maps")
	require.NoError(t, err)
	defer proc.Close()
	assert.False(t, tellsHoles(proc), "a file system that nobody vouches for")
}

// A claim is for one write of one buffer.
func TestZerosAreTakenOnce(t *testing.T) {
	t.Parallel()
	m := &movingFile{}
	m.set(nil, 1<<20)
	var all holes
	r := all.open(m)
	a, b := make([]byte, 4096), make([]byte, 4096)
	n, err := r.Read(a)
	require.NoError(t, err)
	require.Equal(t, 4096, n)
	assert.Nil(t, all.reader(b))
	assert.Nil(t, all.reader(nil))
	require.Same(t, r, all.reader(a))
	assert.False(t, r.take(a[:100]), "another length")
	assert.False(t, r.take(b), "another buffer")
	assert.True(t, r.take(a))
	assert.False(t, r.take(a), "twice")
	a[0] = 1
	_, err = r.Read(b)
	require.NoError(t, err)
	assert.Nil(t, all.reader(a), "the reader has gone on to another buffer")
	fillRandom(a, 1)
	_, err = r.Read(a)
	require.NoError(t, err)
	assert.True(t, isZero(a), "a buffer that comes back is cleared again")
	_, err = r.Read(a[:100])
	require.NoError(t, err)
	require.True(t, r.take(a[:100]))
	fillRandom(a[100:], 1)
	_, err = r.Read(a)
	require.NoError(t, err)
	assert.True(t, isZero(a), "only what was cleared is known to be clear")
	require.NoError(t, r.Close())
	assert.Nil(t, all.reader(a))
}

// movingFile is a sparse file that somebody writes to while it is read: before every question, it may have changed.
type movingFile struct {
	data  []byte
	isSet []bool // by block of 4 KiB
	moved int64
	past  [][]byte // every state since the last look
	move  func(*movingFile)
}

const movingBlock = 4 << 10

func (m *movingFile) set(data []byte, size int) {
	m.data = make([]byte, size)
	copy(m.data, data)
	m.isSet = make([]bool, (size+movingBlock-1)/movingBlock)
	for i := range m.isSet {
		m.isSet[i] = i*movingBlock < len(data)
	}
	m.change()
}

func (m *movingFile) change() {
	m.moved++
	m.past = append(m.past, append([]byte(nil), m.data...))
}

func (m *movingFile) truncate(size int) {
	m.data = append(m.data[:min(size, len(m.data))], make([]byte, max(0, size-len(m.data)))...)
	blocks := (size + movingBlock - 1) / movingBlock
	m.isSet = append(m.isSet[:min(blocks, len(m.isSet))], make([]bool, max(0, blocks-len(m.isSet)))...)
	m.change()
}

func (m *movingFile) write(b []byte, off int) {
	if off+len(b) > len(m.data) {
		m.truncate(off + len(b))
	}
	copy(m.data[off:], b)
	for i := off / movingBlock; i <= (off+len(b)-1)/movingBlock; i++ {
		m.isSet[i] = true
	}
	m.change()
}

func (m *movingFile) step() {
	if m.move != nil {
		m.move(m)
	}
}

func (m *movingFile) Stat() (os.FileInfo, error) {
	m.step()
	st := &syscall.Stat_t{Size: int64(len(m.data)), Ctim: syscall.Timespec{Nsec: m.moved}}
	return movingInfo{st}, nil
}

type movingInfo struct{ st *syscall.Stat_t }

func (i movingInfo) Name() string       { return "f" }
func (i movingInfo) Size() int64        { return i.st.Size }
func (i movingInfo) Mode() os.FileMode  { return 0 }
func (i movingInfo) ModTime() time.Time { return time.Time{} }
func (i movingInfo) IsDir() bool        { return false }
func (i movingInfo) Sys() any           { return i.st }

func (m *movingFile) Seek(off int64, whence int) (int64, error) {
	m.step()
	if off >= int64(len(m.data)) {
		return 0, syscall.ENXIO
	}
	for i := int(off / movingBlock); i < len(m.isSet); i++ {
		if m.isSet[i] == (whence == unix.SEEK_DATA) {
			return max(off, int64(i*movingBlock)), nil
		}
	}
	if whence == unix.SEEK_HOLE {
		return int64(len(m.data)), nil
	}
	return 0, syscall.ENXIO
}

func (m *movingFile) ReadAt(p []byte, off int64) (int, error) {
	m.step()
	if off >= int64(len(m.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *movingFile) Read([]byte) (int, error) { return 0, syscall.EBADF }
func (m *movingFile) Close() error             { return nil }

// Whatever happens to a file while it is read: every byte that is stored was there at some moment since the reader has
// last asked, and a file that holds still is stored as it is.
func TestAChangingFileIsNeverReadAsWhatItNeverWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		m := &movingFile{}
		data := make([]byte, random.IntN(60_000))
		for i := range data {
			data[i] = byte(1 + random.IntN(255)) // zeros come from holes only
		}
		m.set(data, len(data)+random.IntN(300_000))
		if seed%4 != 0 {
			m.move = func(m *movingFile) {
				if random.IntN(3) > 0 {
					return
				}
				switch random.IntN(4) {
				case 0:
					m.truncate(random.IntN(400_000))
				case 1:
					m.truncate(len(m.data) + random.IntN(100_000))
				default:
					b := make([]byte, 1+random.IntN(30_000))
					for i := range b {
						b[i] = byte(1 + random.IntN(255))
					}
					m.write(b, random.IntN(len(m.data)+1))
				}
			}
		}
		var all holes
		r := all.open(m)
		buf := make([]byte, 65536)
		var off int64
		for range 60 {
			if off >= max(r.hole, r.data) {
				m.past = m.past[len(m.past)-1:]
			}
			n, err := r.Read(buf[:1+random.IntN(len(buf))])
			for i, c := range buf[:n] {
				require.True(t, wasThere(m.past, off+int64(i), c), "seed %d: byte %d never was %d", seed, off+int64(i), c)
			}
			off += int64(n)
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		if seed%4 == 0 {
			require.Equal(t, int64(len(m.data)), off)
		}
	}
}

// A file that is emptied and written again between two questions has no data just then, and the size it had.
func TestAFileThatIsWrittenAnewHasNoHole(t *testing.T) {
	t.Parallel()
	data := make([]byte, 200_000)
	fillRandom(data, 5)
	m := &movingFile{}
	m.set(data, len(data))
	calls := 0
	m.move = func(m *movingFile) {
		calls++
		switch calls {
		case 2: // between the first look at the size and the question for data
			m.truncate(0)
		case 3:
			m.write(data, 0)
		}
	}
	var all holes
	got, err := io.ReadAll(all.open(m))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
}

func wasThere(past [][]byte, off int64, c byte) bool {
	for _, state := range slices.Backward(past) {
		if off < int64(len(state)) && state[off] == c {
			return true
		}
	}
	return false
}
