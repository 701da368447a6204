// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// minSparse is the smallest file that is worth asking for its holes.
	minSparse = 4 << 20
	// minHole is the smallest hole that is not read like data: what kopia reads at a time.
	minHole   = 64 << 10
	statBlock = 512 // the unit of st_blocks, whatever the file system's own is
)

// tellsHoles lists the file systems whose word on holes is taken. One that is wrong loses data without a sound, as
// releases of ZFS have done for what was written moments before; and over a network the word is some server's.
func tellsHoles(f interface{ Fd() uintptr }) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return false
	}
	switch int64(st.Type) { //nolint:unconvert // 32 bits on some machines
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// sparseFile is an open file that can be asked for its holes by Seek.
type sparseFile interface {
	sourceHandle
	io.ReaderAt
}

// holes lets the writer of a file know what its reader knows. Kopia copies from one to the other through a buffer that
// belongs to this one copy, so the buffer tells which reader a write comes from.
type holes struct {
	readers atomic.Int64 // how many are open
	buffers sync.Map     // *byte → *holeReader
}

// withHoles returns a reader that does not read holes, where a file has any and its file system can be trusted.
func (h *holes) withHoles(f sourceHandle, st os.FileInfo) sourceHandle {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || st.Size() < minSparse || sys.Blocks*statBlock > st.Size()-minHole {
		return f
	}
	file, ok := f.(sparseFile)
	if !ok {
		return f
	}
	if fd, ok := f.(interface{ Fd() uintptr }); !ok || !tellsHoles(fd) {
		return f
	}
	return h.open(file)
}

func (h *holes) open(f sparseFile) *holeReader {
	h.readers.Add(1)
	return &holeReader{sparseFile: f, all: h}
}

func (h *holes) any() bool { return h.readers.Load() > 0 }

// reader is the one that has filled a buffer, nil where it was filled by something else.
func (h *holes) reader(p []byte) *holeReader {
	if len(p) == 0 {
		return nil
	}
	r, ok := h.buffers.Load(&p[0])
	if !ok {
		return nil
	}
	reader, _ := r.(*holeReader)
	return reader
}

// holeReader reads a sparse file. It gives zeros for holes without asking the system for them, and never for anything
// else: what it calls a hole was one at the moment it asked.
type holeReader struct {
	sparseFile

	all *holes
	pos int64
	// What lies before hole is a hole, what lies before data is read.
	hole, data int64

	buf   *byte // the buffer of this copy
	zeros int   // how many zeros of a hole the last read has put there, until the writer has taken note
	clean int   // how many zeros are there still

	closed bool
}

func (r *holeReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.keep(p)
	if r.pos >= max(r.hole, r.data) {
		if err := r.look(); err != nil {
			return 0, err
		}
	}
	if r.pos < r.hole {
		n := int(min(int64(len(p)), r.hole-r.pos))
		if r.clean < n {
			clear(p[:n])
		}
		r.clean = 0
		r.zeros = n
		r.pos += int64(n)
		return n, nil
	}
	r.clean = 0
	n, err := r.ReadAt(p[:min(int64(len(p)), r.data-r.pos)], r.pos)
	r.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

// keep takes note of the buffer that a copy reads into.
func (r *holeReader) keep(p []byte) {
	r.zeros = 0
	if r.buf == &p[0] {
		return
	}
	r.forget()
	r.buf, r.clean = &p[0], 0
	r.all.buffers.Store(r.buf, r)
}

func (r *holeReader) forget() {
	if r.buf != nil {
		r.all.buffers.CompareAndDelete(r.buf, r)
		r.buf = nil
	}
}

// take reports that a buffer holds nothing but zeros of a hole. Once: what is in it later is another read's.
func (r *holeReader) take(p []byte) bool {
	if r.zeros == 0 || r.zeros != len(p) || r.buf != &p[0] {
		return false
	}
	r.clean, r.zeros = r.zeros, 0 // between this write and the next read, kopia does not touch it
	return true
}

// look asks what lies ahead.
func (r *holeReader) look() error {
	before, err := r.Stat()
	if err != nil {
		return err //nolint:wrapcheck // the caller counts it
	}
	next, err := r.sparseFile.Seek(r.pos, unix.SEEK_DATA)
	switch {
	case errors.Is(err, syscall.ENXIO):
		// No data up to the end, wherever that was just then. Only where nobody has written meanwhile is it known.
		after, err := r.Stat()
		if err != nil {
			return err //nolint:wrapcheck // the caller counts it
		}
		if after.Size() > r.pos && isUntouched(before, after) {
			r.hole = after.Size()
		} else {
			r.data = r.pos + minHole
		}
	case err != nil || next < r.pos:
		r.data = math.MaxInt64 // it cannot tell
	case next-r.pos >= minHole:
		r.hole = next
	default:
		if r.data, err = r.sparseFile.Seek(next, unix.SEEK_HOLE); err != nil {
			r.data = next // it was cut off there
		}
		r.data = max(r.data, r.pos+minHole)
	}
	return nil
}

// isUntouched reports that a file has not been written between two looks.
func isUntouched(a, b os.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && x.Size == y.Size && x.Ctim == y.Ctim && x.Mtim == y.Mtim && x.Blocks == y.Blocks
}

// Seek is called for the parts of a file that is stored in parts.
func (r *holeReader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		off += r.pos
	default:
		return 0, syscall.EINVAL
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	r.pos, r.hole, r.data = off, 0, 0
	return off, nil
}

func (r *holeReader) Close() error {
	r.forget()
	if !r.closed {
		r.closed = true
		r.all.readers.Add(-1)
	}
	return r.sparseFile.Close() //nolint:wrapcheck // nobody looks at it
}
