// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
)

// chunkList is what a large file is stored as. Kopia's reader goes through it from the front, one chunk at a time, and
// waits for the store before each; here every worker that has nothing else to do takes the next one.
type chunkList struct {
	entries []object.IndirectObjectEntry

	mu sync.Mutex
	// zeros are chunks that were read and found to be zeros. A disk image has thousands that are the same.
	zeros map[object.ID]bool
}

// chunks reads the list of a file's chunks, nil for a file that has only one.
func (r *Repository) chunks(ctx context.Context, e *snapshot.DirEntry) (*chunkList, error) {
	list, ok := e.ObjectID.IndexObjectID()
	if !ok {
		return nil, nil //nolint:nilnil // the file is its own chunk
	}
	rd, err := r.rep.OpenObject(ctx, list)
	if err != nil {
		return nil, storageError("open content", err)
	}
	defer rd.Close()
	var in struct {
		StreamID string                       `json:"stream"`
		Entries  []object.IndirectObjectEntry `json:"entries"`
	}
	if err := json.NewDecoder(rd).Decode(&in); err != nil {
		return nil, storageError("read the list of chunks", err)
	}
	if in.StreamID != indirectStream {
		return nil, storageError("read the list of chunks", fmt.Errorf("%w: unknown format %q", ErrDamaged, in.StreamID))
	}
	var size int64
	for _, c := range in.Entries {
		if c.Start != size || c.Length < 0 {
			return nil, storageError("read the list of chunks", fmt.Errorf("%w: after %d bytes there is a gap or an overlap", ErrDamaged, size))
		}
		size += c.Length
	}
	if size != e.FileSize {
		return nil, storageError("read content", fmt.Errorf("%w: %d bytes are stored of %d", ErrDamaged, size, e.FileSize))
	}
	return &chunkList{entries: in.Entries, zeros: map[object.ID]bool{}}, nil
}

func (l *chunkList) isZeros(id object.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.zeros[id]
}

func (l *chunkList) foundZeros(id object.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.zeros[id] = true
}

// copyChunks writes a file in as many places at a time as there are workers.
func (w *restorer) copyChunks(ctx context.Context, f targetFile, l *chunkList, size int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i, c := range l.entries {
		if ctx.Err() != nil {
			break
		}
		w.share(&wg, i == len(l.entries)-1, func() {
			if err := w.chunk(ctx, f, l, c); err != nil {
				cancel(err) // the first one wins
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if w.Sparse {
		return f.Truncate(size) //nolint:wrapcheck // a hole at the end has no bytes that would make it
	}
	return nil
}

// chunk writes one chunk where it belongs.
func (w *restorer) chunk(ctx context.Context, f targetFile, l *chunkList, c object.IndirectObjectEntry) error {
	if l.isZeros(c.Object) {
		return w.zeros(ctx, f, c)
	}
	defer w.takeRoom()()
	rd, err := w.repo.rep.OpenObject(ctx, c.Object)
	if err != nil {
		return storageError("read content", err)
	}
	defer rd.Close()
	if rd.Length() != c.Length {
		return storageError("read content", fmt.Errorf("%w: a chunk has %d bytes instead of %d", ErrDamaged, rd.Length(), c.Length))
	}
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	zero := true
	for off, end := c.Start, c.Start+c.Length; off < end; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b := buf[:min(copyBuffer, end-off)]
		if _, err := io.ReadFull(rd, b); err != nil {
			return storageError("read content", err)
		}
		zero = zero && isZero(b)
		if err := w.put(f, b, off); err != nil {
			return err
		}
		off += int64(len(b))
		w.Progress.Bytes.Add(int64(len(b)))
	}
	if zero {
		l.foundZeros(c.Object)
	}
	return nil
}

// takeRoom waits until one more piece of a large file may be in memory. Who holds it waits for nothing but the store.
func (w *restorer) takeRoom() (give func()) {
	w.room <- struct{}{}
	return func() { <-w.room }
}

// zeros writes a chunk of zeros, or leaves it out.
func (w *restorer) zeros(ctx context.Context, f targetFile, c object.IndirectObjectEntry) error {
	for off, end := c.Start, c.Start+c.Length; off < end && !w.Sparse; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(int64(len(zeroBlock)), end-off)
		if _, err := f.WriteAt(zeroBlock[:n], off); err != nil {
			return err //nolint:wrapcheck // the caller adds the path
		}
		off += n
	}
	w.Progress.Bytes.Add(c.Length)
	return nil
}

// contentOf is what copy reads from.
type contentOf struct {
	chunks *chunkList
	whole  object.Reader
}

// openContent opens what a file consists of. Where a checksum of it is wanted, it has to be read from its front.
func (w *restorer) openContent(ctx context.Context, e *snapshot.DirEntry) (contentOf, error) {
	if w.sum == nil {
		l, err := w.repo.chunks(ctx, e)
		if l != nil || err != nil {
			return contentOf{chunks: l}, err
		}
	}
	rd, err := w.repo.rep.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return contentOf{}, storageError("open content", err)
	}
	return contentOf{whole: rd}, nil
}

func (c contentOf) close() {
	if c.whole != nil {
		_ = c.whole.Close()
	}
}
