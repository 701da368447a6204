// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kopia/kopia/snapshot"
)

const (
	// workDirMode lets nobody else look into a folder that has not its final owner yet.
	workDirMode = 0o700
	copyBuffer  = 1 << 20
	// smallFile is what takes no memory worth counting.
	smallFile = 1 << 20
	// holeSize is the unit in which zeros become holes: a page, the block of all common file systems.
	holeSize = 4 << 10
)

// lstat looks at what is at a place, unless it is known that nothing is.
func (p place) lstat() (fs.FileInfo, error) {
	if p.fresh {
		return nil, fs.ErrNotExist
	}
	return p.in.Lstat(p.name) //nolint:wrapcheck // the callers add the path
}

// beginDir makes or takes over a folder, and opens it. It reports whether it made it.
func (w *restorer) beginDir(at place, rel string, entries []*snapshot.DirEntry) (dir targetDir, fresh bool, err error) {
	st, err := at.lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fresh = true
		err = at.in.Mkdir(at.name, workDirMode)
	case err != nil:
	case !st.IsDir():
		if err = w.mayReplace(st, rel); err == nil {
			if err = at.in.Remove(at.name); err == nil {
				err = at.in.Mkdir(at.name, workDirMode)
			}
		}
	case w.euid != 0 && st.Mode().Perm()&workDirMode != workDirMode:
		_ = at.in.Named(at.name).Chmod(st.Mode().Perm() | workDirMode) // where it is not ours, the next step says so
	}
	if err == nil {
		dir, err = at.in.OpenDir(at.name)
	}
	if err != nil {
		return nil, false, targetError(rel, err)
	}
	if fresh {
		return dir, true, nil
	}
	if err := w.clear(dir, rel, entries); err != nil {
		_ = dir.Close()
		return nil, false, targetError(rel, err)
	}
	return dir, false, nil
}

// clear deals with what is in a folder already.
func (w *restorer) clear(dir targetDir, rel string, entries []*snapshot.DirEntry) error {
	if !w.DeleteExtra && !w.KeepDirectories {
		return nil
	}
	existing, err := dir.ReadDir()
	if err != nil {
		return err //nolint:wrapcheck // the caller adds the path
	}
	isDir := make(map[string]bool, len(entries))
	for _, e := range entries {
		isDir[e.Name] = e.Type == snapshot.EntryTypeDirectory
	}
	for _, have := range existing {
		if rel == "" && (isLeftover(have.Name()) || have.Name() == w.mark.name) {
			continue // belongs to the file system, or to this restore, and not to the data
		}
		if w.KeepDirectories {
			if w.oursIn(dir, have.Name()) {
				continue
			}
			return fmt.Errorf("the folder is not empty, and overwriteDirectories is false: %w", fs.ErrExist)
		}
		want, known := isDir[have.Name()]
		if known && want == have.IsDir() {
			continue
		}
		if err := dir.RemoveAll(have.Name()); err != nil {
			return err //nolint:wrapcheck // the caller adds the path
		}
		w.count(func(o *Restored) { o.Deleted++ })
	}
	return nil
}

// mayReplace says whether something that is no folder may be written over.
func (w *restorer) mayReplace(st fs.FileInfo, rel string) error {
	switch {
	case st.IsDir():
		return fmt.Errorf("a folder is in the way of %s; enableFileDeletion would remove it: %w", rel, fs.ErrExist)
	case st.Mode()&os.ModeSymlink != 0 && w.KeepLinks:
		return fmt.Errorf("a link is in the way, and overwriteSymlinks is false: %w", fs.ErrExist)
	case st.Mode()&os.ModeSymlink == 0 && w.KeepFiles:
		return fmt.Errorf("a file is in the way, and overwriteFiles is false: %w", fs.ErrExist)
	}
	return nil
}

func (w *restorer) file(ctx context.Context, at place, rel string, e *snapshot.DirEntry) error {
	st, err := at.lstat()
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return targetError(rel, err)
	}
	if exists && w.isDone(at, st, e) {
		w.attributes(at.in.Named(at.name), rel, e) // the first attempt may have ended before it came to them
		w.Progress.Bytes.Add(e.FileSize)
		w.count(func(o *Restored) { o.Skipped++ })
		return nil
	}
	if exists {
		if err := w.mayReplace(st, rel); err != nil {
			return targetError(rel, err)
		}
	}
	tmp := at
	inPlace := w.InPlace && !w.KeepFiles // what may not be written over is not there
	if inPlace {
		if exists && !st.Mode().IsRegular() {
			if err := at.in.Remove(at.name); err != nil { // writing would follow a link, or fill a pipe
				return targetError(rel, err)
			}
		}
	} else {
		// The name is the same in every attempt, so that what a killed one left is used up and not left behind.
		tmp.name = partName(e.Name, at.parts)
		if !at.fresh {
			if err := at.in.Remove(tmp.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return targetError(rel, err)
			}
		}
	}
	if err := w.content(ctx, tmp, rel, e, inPlace); err != nil {
		if !inPlace {
			_ = at.in.Remove(tmp.name)
		}
		if errors.Is(err, ErrStorage) || ctx.Err() != nil {
			return fmt.Errorf("restore %s: %w", rel, err)
		}
		return targetError(rel, err)
	}
	if tmp.name != at.name {
		if err := at.in.Rename(tmp.name, at.name); err != nil {
			_ = at.in.Remove(tmp.name)
			return targetError(rel, err)
		}
	}
	w.count(func(o *Restored) { o.Files++; o.Bytes += e.FileSize })
	return nil
}

// content writes a file with all that belongs to it.
func (w *restorer) content(ctx context.Context, at place, rel string, e *snapshot.DirEntry, inPlace bool) error {
	if _, list := e.ObjectID.IndexObjectID(); e.FileSize > smallFile && (!list || w.sum != nil) {
		defer w.takeRoom()()
	}
	src, err := w.openContent(ctx, e)
	if err != nil {
		return err
	}
	defer src.close()
	open := at.in.Create
	if inPlace {
		open = at.in.Open
	}
	f, err := open(at.name)
	if err != nil {
		return err //nolint:wrapcheck // the caller adds the path
	}
	if err = w.fill(ctx, f, src, rel, e); err == nil {
		w.attributes(f, rel, e)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// fill writes what a file holds.
func (w *restorer) fill(ctx context.Context, f targetFile, src contentOf, rel string, e *snapshot.DirEntry) error {
	switch {
	case src.chunks != nil:
		return w.copyChunks(ctx, f, src.chunks, e.FileSize)
	case w.sum == nil:
		return w.copy(ctx, f, src.whole, e.FileSize)
	}
	h := sha256.New()
	if err := w.copy(ctx, f, io.TeeReader(src.whole, h), e.FileSize); err != nil {
		return err
	}
	return w.sum(rel, h.Sum(nil))
}

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

func (w *restorer) copy(ctx context.Context, f targetFile, rd io.Reader, want int64) error {
	// One buffer per file would be the largest cost of restoring many small ones.
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	var size int64
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, rerr := io.ReadFull(rd, buf[:])
		if n > 0 {
			if err := w.put(f, buf[:n], size); err != nil {
				return err
			}
			size += int64(n)
			w.Progress.Bytes.Add(int64(n))
		}
		switch {
		case errors.Is(rerr, io.EOF), errors.Is(rerr, io.ErrUnexpectedEOF):
			if size != want {
				return storageError("read content", fmt.Errorf("%w: %d bytes are stored of %d", ErrDamaged, size, want))
			}
			if w.Sparse {
				return f.Truncate(size) //nolint:wrapcheck // a hole at the end has no bytes that would make it
			}
			return nil
		case rerr != nil:
			return storageError("read content", rerr)
		}
	}
}

// put writes one buffer, leaving out whole pages of zeros where holes are wanted.
func (w *restorer) put(f targetFile, b []byte, off int64) error {
	if !w.Sparse {
		_, err := f.WriteAt(b, off)
		return err //nolint:wrapcheck // the caller adds the path
	}
	for len(b) > 0 {
		zeros := len(b[:run(b, true)])
		off, b = off+int64(zeros), b[zeros:]
		data := b[:run(b, false)]
		if len(data) > 0 {
			if _, err := f.WriteAt(data, off); err != nil {
				return err //nolint:wrapcheck // the caller adds the path
			}
		}
		off, b = off+int64(len(data)), b[len(data):]
	}
	return nil
}

var zeroPage [holeSize]byte

// run is the length of the run of pages at the start of b that are all zero, or that are not.
func run(b []byte, zero bool) int {
	n := 0
	for n < len(b) {
		page := b[n:min(n+holeSize, len(b))]
		if bytes.Equal(page, zeroPage[:len(page)]) != zero {
			break
		}
		n += len(page)
	}
	return n
}

func (w *restorer) link(ctx context.Context, at place, rel string, e *snapshot.DirEntry) error {
	target, err := w.repo.readLink(ctx, e.ObjectID)
	if err != nil {
		return fmt.Errorf("restore %s: %w", rel, err)
	}
	st, err := at.lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return targetError(rel, err)
	default:
		if have, rerr := at.in.Readlink(at.name); rerr == nil && have == target && (w.SkipExisting || w.ours(at)) {
			w.attributes(at.in.Named(at.name), rel, e)
			w.count(func(o *Restored) { o.Skipped++ })
			return nil
		}
		if err := w.mayReplace(st, rel); err != nil {
			return targetError(rel, err)
		}
		if err := at.in.Remove(at.name); err != nil {
			return targetError(rel, err)
		}
	}
	// The target may be any text: it is data. Nothing here ever follows it out of the folder.
	if err := at.in.Symlink(target, at.name); err != nil {
		return targetError(rel, err)
	}
	w.attributes(at.in.Named(at.name), rel, e)
	w.count(func(o *Restored) { o.Links++ })
	return nil
}

// isDone reports that a file needs no writing. Times are compared to the second: some file systems keep no more.
func (w *restorer) isDone(at place, st fs.FileInfo, e *snapshot.DirEntry) bool {
	if !st.Mode().IsRegular() || st.Size() != e.FileSize {
		return false
	}
	if st.ModTime().Truncate(time.Second).Equal(e.ModTime.ToTime().Truncate(time.Second)) {
		return w.SkipExisting || w.ours(at)
	}
	// Without the time, a file of ours with its own name is whole all the same, unless it was written in place.
	return w.SkipTimes && !w.InPlace && w.ours(at)
}

const partPrefix = ".kopiur-part-"

// partName is what a file is called until it is whole. A restore that was killed may have left such a name, and a backup
// may have stored it since: as an entry of the snapshot it is data like any other, and no part may take its place.
func partName(name string, taken map[string]bool) string {
	h := fnv.New64a()
	for {
		_, _ = h.Write([]byte(name))
		if part := fmt.Sprintf("%s%016x", partPrefix, h.Sum64()); !taken[part] {
			return part
		}
	}
}

// partsAmong are the entries whose names look like those of parts.
func partsAmong(entries []*snapshot.DirEntry) map[string]bool {
	var out map[string]bool
	for _, e := range entries {
		if strings.HasPrefix(e.Name, partPrefix) {
			if out == nil {
				out = map[string]bool{}
			}
			out[e.Name] = true
		}
	}
	return out
}

func targetError(rel string, err error) error {
	if rel == "" {
		rel = "the target itself"
	}
	return fmt.Errorf("%w: %s: %w", ErrTarget, rel, err)
}
