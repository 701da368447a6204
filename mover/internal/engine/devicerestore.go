// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/kopia/kopia/snapshot"
)

// RestoreDevice writes the single file of a snapshot onto a block device. What lies behind the image stays. Of the
// options only these count: Parallel; KeepFiles, which refuses a device that holds anything but zeros; and SkipExisting,
// which reads each block first and writes only what differs.
func (r *Repository) RestoreDevice(ctx context.Context, s Snapshot, o Restore) (Restored, error) {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return Restored{}, fmt.Errorf("restore %s: %w", s.ID, errNoRoot)
	}
	e := s.manifest.RootEntry
	if e.Type != snapshot.EntryTypeFile {
		return Restored{}, fmt.Errorf("%w: a block device takes a single file, and the snapshot holds a folder or link; name a file in it", ErrInvalidOption)
	}
	dev, err := openTargetDevice(o.Target)
	if err != nil {
		return Restored{}, err
	}
	if o.wrapDevice != nil {
		dev = o.wrapDevice(dev)
	}
	w := &deviceRestore{Restore: o, repo: r, dev: dev, e: e}
	err = w.start(ctx)
	if cerr := dev.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("%w: %w", ErrTarget, cerr)
	}
	out := Restored{Bytes: w.written.Load(), Ownership: Ownership{}}
	if err == nil {
		out.Files = 1
		o.Progress.Files.Add(1)
	}
	return out, err
}

type deviceRestore struct {
	Restore

	repo    *Repository
	dev     targetDevice
	e       *snapshot.DirEntry
	next    atomic.Int64
	written atomic.Int64
}

func (w *deviceRestore) start(ctx context.Context) error {
	if have := w.dev.Size(); have < w.e.FileSize {
		return fmt.Errorf("%w: %w: it has %d bytes, the image %d; nothing was written", ErrTarget, ErrTooSmall, have, w.e.FileSize)
	}
	w.Progress.TotalBytes.Store(w.e.FileSize)
	w.Progress.TotalFiles.Store(1)
	if w.KeepFiles {
		if err := w.empty(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range max(w.Parallel, 1) {
		wg.Go(func() {
			if err := w.work(ctx); err != nil {
				cancel(err) // the first one wins
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := w.dev.Sync(); err != nil {
		return fmt.Errorf("%w: sync: %w", ErrTarget, err)
	}
	return nil
}

// empty refuses a device that holds something.
func (w *deviceRestore) empty(ctx context.Context) error {
	buf := make([]byte, deviceBlock)
	for off := int64(0); off < w.e.FileSize; off += deviceBlock {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b := buf[:min(deviceBlock, w.e.FileSize-off)]
		if n, err := w.dev.ReadAt(b, off); n < len(b) {
			return fmt.Errorf("%w: at byte %d: %w", ErrTarget, off, err)
		}
		if !isZero(b) {
			return fmt.Errorf("%w: the device is not empty, and overwriteFiles is false; nothing was written: %w", ErrTarget, fs.ErrExist)
		}
	}
	return nil
}

// work writes segments until there are none left.
func (w *deviceRestore) work(ctx context.Context) error {
	rd, err := w.repo.rep.OpenObject(ctx, w.e.ObjectID)
	if err != nil {
		return storageError("open content", err)
	}
	defer rd.Close()
	if rd.Length() != w.e.FileSize {
		return storageError("open content", fmt.Errorf("%w: %d bytes are stored of %d", ErrDamaged, rd.Length(), w.e.FileSize))
	}
	buf, have := make([]byte, deviceBlock), make([]byte, deviceBlock)
	for {
		start := (w.next.Add(1) - 1) * deviceSegment
		if start >= w.e.FileSize {
			return nil
		}
		if _, err := rd.Seek(start, io.SeekStart); err != nil {
			return storageError("read content", err)
		}
		if err := w.segment(ctx, rd, start, buf, have); err != nil {
			return err
		}
	}
}

func (w *deviceRestore) segment(ctx context.Context, rd io.Reader, start int64, buf, have []byte) error {
	zeroFrom, end := start, min(start+deviceSegment, w.e.FileSize)
	zeros := func(to int64) error {
		if zeroFrom == to {
			return nil
		}
		if err := w.dev.Zero(zeroFrom, to-zeroFrom); err != nil {
			return fmt.Errorf("%w: at byte %d: %w", ErrTarget, zeroFrom, err)
		}
		return nil
	}
	for off := start; off < end; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b := buf[:min(deviceBlock, end-off)]
		if _, err := io.ReadFull(rd, b); err != nil {
			return storageError("read content", err)
		}
		if !isZero(b) {
			if err := zeros(off); err != nil {
				return err
			}
			if err := w.put(b, have, off); err != nil {
				return err
			}
			zeroFrom = off + int64(len(b))
		}
		off += int64(len(b))
		w.Progress.Bytes.Add(int64(len(b)))
		w.written.Add(int64(len(b)))
	}
	return zeros(end)
}

func (w *deviceRestore) put(b, have []byte, off int64) error {
	if w.SkipExisting {
		n, err := w.dev.ReadAt(have[:len(b)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: at byte %d: %w", ErrTarget, off, err)
		}
		if bytes.Equal(have[:n], b) {
			return nil
		}
	}
	if _, err := w.dev.WriteAt(b, off); err != nil {
		return fmt.Errorf("%w: at byte %d: %w", ErrTarget, off, err)
	}
	return nil
}
