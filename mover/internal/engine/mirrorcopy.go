// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// maxFormatBytes bounds kopia's few blobs of settings, which are compared in memory.
const maxFormatBytes = 16 << 20

// copyMissing copies packs and logs, then indexes. It reports how many blobs vanished from the source.
func (w *mirror) copyMissing(ctx context.Context, src, dst blobList) (vanished int64, err error) {
	var packs, indexes []blob.Metadata
	var total BlobCount
	for id, m := range src {
		have, ok := dst[id]
		if ok && have.Length == m.Length && (w.KeepOlder || !m.Timestamp.After(have.Timestamp)) {
			continue
		}
		switch kindOfBlob(id) {
		case blobData, blobLog:
			packs = append(packs, m)
		case blobIndex:
			indexes = append(indexes, m)
		case blobForeign, blobSession, blobFormat:
			continue
		}
		total.add(m.Length)
	}
	w.Progress.TotalBytes.Store(w.out.Copied.Bytes + total.Bytes)
	w.Progress.TotalFiles.Store(w.out.Copied.Blobs + total.Blobs)
	for _, batch := range [][]blob.Metadata{packs, indexes} {
		// In the order of their names: a later attempt, and a person who looks, sees how far it came.
		slices.SortFunc(batch, func(a, b blob.Metadata) int { return strings.Compare(string(a.BlobID), string(b.BlobID)) })
		n, err := w.copy(ctx, batch)
		vanished += n
		if err != nil || vanished > 0 {
			// Indexes wait until every pack is there.
			return vanished, err
		}
	}
	return 0, nil
}

// loaded is a blob between the two stores.
type loaded struct {
	blob.Metadata
	data *blobBuffer
	held int64
}

// copy copies blobs with as many readers as writers, so that the latencies of the two stores do not add up.
func (w *mirror) copy(ctx context.Context, batch []blob.Metadata) (vanished int64, err error) {
	var (
		gone, copied, size atomic.Int64
		limit              = w.inFlight()
		room               = semaphore.NewWeighted(limit)
		todo               = make(chan blob.Metadata)
		ready              = make(chan loaded)
	)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(todo)
		for _, m := range batch {
			select {
			case todo <- m:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	readers, rctx := errgroup.WithContext(ctx)
	for range max(w.Parallel, 1) {
		readers.Go(func() error {
			for m := range todo {
				l := loaded{Metadata: m, data: &blobBuffer{}, held: min(max(m.Length, 1), limit)}
				if err := room.Acquire(rctx, l.held); err != nil {
					return context.Cause(rctx)
				}
				ok, err := w.load(rctx, m, l.data)
				if err != nil {
					return AtSource(err)
				}
				if !ok {
					gone.Add(1)
					room.Release(l.held)
					continue
				}
				select {
				case ready <- l:
				case <-rctx.Done():
					return context.Cause(rctx)
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(ready)
		return readers.Wait()
	})
	for range max(w.Parallel, 1) {
		group.Go(func() error {
			for l := range ready {
				if err := w.put(ctx, l.Metadata, l.data); err != nil {
					return AtDestination(err)
				}
				n := int64(l.data.Length())
				l.data.Reset()
				room.Release(l.held)
				copied.Add(1)
				size.Add(n)
				w.Progress.Files.Add(1)
				w.Progress.Bytes.Add(n)
			}
			return nil
		})
	}
	err = group.Wait()
	w.out.Copied.Blobs += copied.Load()
	w.out.Copied.Bytes += size.Load()
	return gone.Load(), err
}

// inFlight is the limit for the bytes in memory: without one, a pack for each that reads or writes.
func (w *mirror) inFlight() int64 {
	if w.MaxInFlight > 0 {
		return w.MaxInFlight
	}
	return int64(max(w.Parallel, 1)) * packBytes
}

// packBytes is a little more than the largest pack that kopia writes by itself.
const packBytes = 24 << 20

// load reads one blob whole. It reports false for one that vanished.
func (w *mirror) load(ctx context.Context, m blob.Metadata, into *blobBuffer) (bool, error) {
	err := w.src.GetBlob(ctx, m.BlobID, 0, -1, into)
	switch {
	case err == nil:
	case errors.Is(err, blob.ErrBlobNotFound):
		return false, nil
	default:
		return false, fmt.Errorf("%w: read blob %s: %w", ErrStorage, m.BlobID, err)
	}
	if int64(into.Length()) != m.Length {
		return false, fmt.Errorf("%w: blob %s has %d bytes, and %d were read", ErrStorage, m.BlobID, m.Length, into.Length())
	}
	return true, nil
}

func (w *mirror) put(ctx context.Context, m blob.Metadata, data blob.Bytes) error {
	o := w.locks.options(m.BlobID)
	if w.Times && !w.untimed.Load() {
		o.SetModTime = m.Timestamp
	}
	err := w.dst.PutBlob(ctx, m.BlobID, data, o)
	if errors.Is(err, blob.ErrSetTimeUnsupported) {
		if w.untimed.CompareAndSwap(false, true) {
			w.Log("warn", "The destination cannot keep the source's times")
		}
		o.SetModTime = time.Time{}
		err = w.dst.PutBlob(ctx, m.BlobID, data, o)
	}
	if o.HasRetentionOptions() && cannotLock(err) {
		// Every other reason that it may have is met again.
		o.RetentionMode, o.RetentionPeriod = "", 0
		if err = w.dst.PutBlob(ctx, m.BlobID, data, o); err == nil {
			w.locks.impossible.Store(true)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: write blob %s: %w", ErrStorage, m.BlobID, err)
	}
	if o.HasRetentionOptions() {
		w.locks.count.Add(1)
	}
	return nil
}

// refresh copies one of the blobs that are written again under their name, if the two differ. Times would not tell: the
// two stores have two clocks.
func (w *mirror) refresh(ctx context.Context, m blob.Metadata) error {
	want, err := readSmall(ctx, w.src, m.BlobID)
	if errors.Is(err, blob.ErrBlobNotFound) {
		return nil
	}
	if err != nil {
		return AtSource(err)
	}
	have, err := readSmall(ctx, w.dst, m.BlobID)
	missing := errors.Is(err, blob.ErrBlobNotFound)
	switch {
	case err != nil && !missing:
		return AtDestination(err)
	case !missing && (w.KeepOlder || bytes.Equal(want, have)):
		return nil
	}
	b := &blobBuffer{}
	defer b.Reset()
	_, _ = b.Write(want)
	if err := w.put(ctx, m, b); err != nil {
		return AtDestination(err)
	}
	w.out.Copied.add(int64(len(want)))
	return nil
}

func readSmall(ctx context.Context, st blob.Reader, id blob.ID) ([]byte, error) {
	b := &blobBuffer{}
	defer b.Reset()
	if err := st.GetBlob(ctx, id, 0, -1, b); err != nil {
		return nil, fmt.Errorf("%w: read blob %s: %w", ErrStorage, id, err)
	}
	if b.Length() > maxFormatBytes {
		return nil, fmt.Errorf("%w: blob %s has %d bytes", ErrStorage, id, b.Length())
	}
	var out bytes.Buffer
	_, _ = b.WriteTo(&out)
	return out.Bytes(), nil
}

// remove deletes blobs at the destination.
func (w *mirror) remove(parent context.Context, batch []blob.Metadata) error {
	group, ctx := errgroup.WithContext(parent)
	group.SetLimit(max(w.Parallel, 1))
	var blobs, size atomic.Int64
	for _, m := range batch {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := w.dst.DeleteBlob(ctx, m.BlobID); err != nil && !errors.Is(err, blob.ErrBlobNotFound) {
				return fmt.Errorf("%w: delete blob %s: %w", ErrStorage, m.BlobID, err)
			}
			blobs.Add(1)
			size.Add(m.Length)
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		err = context.Cause(parent)
	}
	w.out.Deleted.Blobs += blobs.Load()
	w.out.Deleted.Bytes += size.Load()
	return err
}
