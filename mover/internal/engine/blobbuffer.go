// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kopia/kopia/repo/blob"
)

// chunkBytes is the piece a blob in memory grows by. A buffer that doubles would take up to twice the blob.
const chunkBytes = 256 << 10

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// blobBuffer holds one blob on its way from one store to another. Kopia's own is not to be had outside of it.
type blobBuffer struct {
	chunks []*[chunkBytes]byte
	size   int
}

var (
	_ blob.OutputBuffer = (*blobBuffer)(nil)
	_ blob.Bytes        = (*blobBuffer)(nil)
)

// Write appends.
func (b *blobBuffer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		at := b.size % chunkBytes
		if b.size/chunkBytes == len(b.chunks) {
			c, _ := chunks.Get().(*[chunkBytes]byte)
			b.chunks = append(b.chunks, c)
		}
		k := copy(b.chunks[b.size/chunkBytes][at:], p)
		p = p[k:]
		b.size += k
	}
	return n, nil
}

// Reset forgets the content and gives its memory back.
func (b *blobBuffer) Reset() {
	for _, c := range b.chunks {
		chunks.Put(c)
	}
	b.chunks, b.size = nil, 0
}

// Length is the number of bytes.
func (b *blobBuffer) Length() int { return b.size }

// WriteTo implements io.WriterTo.
func (b *blobBuffer) WriteTo(w io.Writer) (int64, error) {
	var done int64
	for i := range b.chunks {
		n, err := w.Write(b.part(i * chunkBytes))
		done += int64(n)
		if err != nil {
			return done, err //nolint:wrapcheck // the store that writes says what it was doing
		}
	}
	return done, nil
}

// part is what is in one chunk from an offset on.
func (b *blobBuffer) part(off int) []byte {
	return b.chunks[off/chunkBytes][off%chunkBytes : min(chunkBytes, b.size-off/chunkBytes*chunkBytes)]
}

// Reader reads the content; there may be several at a time.
func (b *blobBuffer) Reader() io.ReadSeekCloser { return &bufferReader{b: b} }

type bufferReader struct {
	b   *blobBuffer
	off int
}

func (r *bufferReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.off >= r.b.size {
		return 0, io.EOF
	}
	n := copy(p, r.b.part(r.off))
	r.off += n
	return n, nil
}

func (r *bufferReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += int64(r.off)
	case io.SeekEnd:
		offset += int64(r.b.size)
	default:
		return 0, fmt.Errorf("seek in a blob: unknown origin %d", whence)
	}
	if offset < 0 {
		return 0, errors.New("seek in a blob: before its begin")
	}
	r.off = int(offset)
	return offset, nil
}

func (r *bufferReader) Close() error { return nil }
