// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/kopia/kopia/fs"
	"golang.org/x/sys/unix"
)

// dirBatch is how many names are read from a directory at a time.
const dirBatch = 256

// source is the file system a backup reads. It is our own and not kopia's localfs for three reasons: localfs drops
// pipes, sockets and devices without a word; it turns two names that are not UTF-8 into one; and it takes a user's
// file called x.kopia-entry for a placeholder of its own.
type source struct {
	fs     sourceFS
	counts *sourceCounts
	// prev are the newest earlier snapshots of the source, to tell a new file from a modified one.
	prev []fs.Directory
	// holes are those of the files that are being read.
	holes holes
}

// openSource looks at the root itself. A root that cannot be read is an error here: kopia would store nothing else.
func openSource(root string, wrap func(sourceFS) sourceFS, counts *sourceCounts) (*sourceDir, error) {
	st, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a folder", ErrSource, root)
	}
	sys, err := openRootFS(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	if wrap != nil {
		sys = wrap(sys)
	}
	f, err := sys.OpenDir(".")
	if err == nil {
		_, err = f.ReadDir(1)
		_ = f.Close()
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		_ = sys.Close()
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return &sourceDir{sourceEntry: sourceEntry{src: &source{fs: sys, counts: counts}, name: filepath.Base(filepath.Clean(root)), info: st}}, nil
}

// close gives back what the source holds. It comes after the last call of kopia.
func (s *source) close() { _ = s.fs.Close() }

// sourceEntry is what all kinds share.
type sourceEntry struct {
	src    *source
	parent *sourceDir // nil for the root
	name   string     // as stored
	info   os.FileInfo

	// Flags of first and fault, set once. Plain words: the entry is copied once while it is made.
	closed, faulted uint32
}

func (e *sourceEntry) Name() string                { return e.name }
func (e *sourceEntry) Mode() os.FileMode           { return e.info.Mode() }
func (e *sourceEntry) ModTime() time.Time          { return e.info.ModTime() }
func (e *sourceEntry) IsDir() bool                 { return e.info.IsDir() }
func (e *sourceEntry) Sys() any                    { return nil }
func (e *sourceEntry) LocalFilesystemPath() string { return "" } // would let kopia go round this wrapper

func (e *sourceEntry) Size() int64 {
	if e.info.IsDir() {
		return 0
	}
	return e.info.Size()
}

func (e *sourceEntry) Owner() fs.OwnerInfo {
	if st, ok := e.info.Sys().(*syscall.Stat_t); ok {
		return fs.OwnerInfo{UserID: st.Uid, GroupID: st.Gid}
	}
	return fs.OwnerInfo{}
}

func (e *sourceEntry) Device() fs.DeviceInfo {
	if st, ok := e.info.Sys().(*syscall.Stat_t); ok {
		return fs.DeviceInfo{Dev: st.Dev, Rdev: st.Rdev}
	}
	return fs.DeviceInfo{}
}

// rel is the path below the root. Only entries with a stored name equal to the real one are ever opened by it.
func (e *sourceEntry) rel() string {
	if e.parent == nil {
		return "."
	}
	return path.Join(e.parent.rel(), e.name)
}

// first reports true once. Kopia closes every entry it has stored or refused exactly when it is done with it, and never
// closes one that a rule excluded: this is where facts about an entry are counted.
func (e *sourceEntry) first() bool { return atomic.CompareAndSwapUint32(&e.closed, 0, 1) }

// fault reports true for the first fault of the entry: a large file is opened once for every part.
func (e *sourceEntry) fault() bool { return atomic.CompareAndSwapUint32(&e.faulted, 0, 1) }

// fail counts an entry that cannot be opened, unless it is not there any more.
func (e *sourceEntry) fail(err error) {
	if e.parent != nil && isGone(err) && e.parent.lacks(e.name) {
		e.src.counts.vanish(e)
		return
	}
	e.src.counts.unreadable(e, err)
}

// isGone is what a system says about a name that was deleted; an NFS server may say it of one that it still lists.
func isGone(err error) bool {
	return errors.Is(err, iofs.ErrNotExist) || errors.Is(err, syscall.ESTALE)
}

type sourceDir struct {
	sourceEntry
	prevOnce sync.Once
	prevDirs []fs.Directory
}

var _ fs.Directory = (*sourceDir)(nil)

func (d *sourceDir) SupportsMultipleIterations() bool { return true }

func (d *sourceDir) Close() {
	if d.first() {
		d.src.counts.attributes(&d.sourceEntry)
	}
}

func (d *sourceDir) Child(_ context.Context, name string) (fs.Entry, error) {
	st, err := d.src.fs.Lstat(path.Join(d.rel(), name))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, fs.ErrEntryNotFound
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // kopia looks at it
	}
	return d.entry(name, st, nil), nil
}

func (d *sourceDir) Iterate(context.Context) (fs.DirectoryIterator, error) {
	f, err := d.src.fs.OpenDir(d.rel())
	if err != nil {
		d.fail(err)
		return nil, err //nolint:wrapcheck // kopia stores the text with the entry
	}
	return &sourceIterator{dir: d, f: f}, nil
}

// lacks reports that a folder does not list a name. Only that proves that the entry is gone: a name that is listed and
// cannot be found (a broken folder, a character set that the server does not translate) is data that would be missing.
func (d *sourceDir) lacks(name string) bool {
	f, err := d.src.fs.OpenDir(d.rel())
	if err != nil {
		return isGone(err) && d.parent != nil && d.parent.lacks(d.name)
	}
	defer f.Close()
	for {
		batch, err := f.ReadDir(dirBatch)
		for _, e := range batch {
			if e.Name() == name {
				return false
			}
		}
		switch {
		case errors.Is(err, io.EOF) || err == nil && len(batch) == 0:
			return true
		case err != nil:
			return false
		}
	}
}

// previous is this folder in the earlier snapshots. It is looked up on demand only: where nothing has changed, nobody
// asks.
func (d *sourceDir) previous(ctx context.Context) []fs.Directory {
	d.prevOnce.Do(func() {
		if d.parent == nil {
			d.prevDirs = d.src.prev
			return
		}
		for _, p := range d.parent.previous(ctx) {
			if e, err := p.Child(ctx, d.name); err == nil {
				if sub, ok := e.(fs.Directory); ok {
					d.prevDirs = append(d.prevDirs, sub)
				}
			}
		}
	})
	return d.prevDirs
}

// entry makes the entry of one name. A cause means that its type is all that is known.
func (d *sourceDir) entry(name string, st os.FileInfo, cause error) fs.Entry {
	base := sourceEntry{src: d.src, parent: d, name: name, info: st}
	switch {
	case !utf8.ValidString(name):
		base.name = escapeName(name)
		return &sourceFault{sourceEntry: base, err: ErrUnsupportedName}
	case cause != nil:
		return &sourceFault{sourceEntry: base, err: cause}
	}
	switch st.Mode() & os.ModeType {
	case 0:
		return &sourceFile{sourceEntry: base}
	case os.ModeDir:
		return &sourceDir{sourceEntry: base}
	case os.ModeSymlink:
		return &sourceLink{sourceEntry: base}
	default:
		return &sourceFault{sourceEntry: base, err: fs.ErrUnknown}
	}
}

type sourceIterator struct {
	dir   *sourceDir
	f     sourceFolder
	batch []os.DirEntry
	end   bool
}

func (it *sourceIterator) Next(context.Context) (fs.Entry, error) {
	for {
		if len(it.batch) == 0 {
			if it.end {
				return nil, nil //nolint:nilnil // the end, by kopia's contract
			}
			batch, err := it.f.ReadDir(dirBatch)
			if err != nil && !errors.Is(err, io.EOF) {
				it.dir.src.counts.unreadable(&it.dir.sourceEntry, err)
				return nil, err //nolint:wrapcheck // kopia stores the text with the entry
			}
			it.batch, it.end = batch, err != nil || len(batch) == 0
			continue
		}
		de := it.batch[0]
		it.batch = it.batch[1:]
		st, err := it.f.Lstat(de.Name())
		if isGone(err) && it.dir.lacks(de.Name()) {
			continue // it went away between the listing and now: it is not part of this moment
		}
		if err != nil {
			return it.dir.entry(de.Name(), unknownInfo{de}, err), nil
		}
		return it.dir.entry(de.Name(), st, nil), nil
	}
}

func (it *sourceIterator) Close() { _ = it.f.Close() }

// unknownInfo stands for an entry that may be listed and not looked at.
type unknownInfo struct{ os.DirEntry }

func (u unknownInfo) Size() int64        { return 0 }
func (u unknownInfo) Mode() os.FileMode  { return u.Type() }
func (u unknownInfo) ModTime() time.Time { return time.Time{} }
func (u unknownInfo) Sys() any           { return nil }

type sourceFile struct {
	sourceEntry
	opened atomic.Bool
	// extended is what the file said of its attributes while it was open.
	extended atomic.Pointer[extended]
}

var _ fs.File = (*sourceFile)(nil)

func (f *sourceFile) Close() {
	if f.first() {
		known := f.extended.Load()
		if !f.opened.Load() && f.src.counts.isPlain(&f.sourceEntry) {
			known = &extended{} // it is taken from a snapshot that has counted none
		}
		f.src.counts.attributesOf(&f.sourceEntry, known)
	}
}

// Open is only reached for content that is not in an earlier snapshot with the same size, time, mode and owner.
func (f *sourceFile) Open(ctx context.Context) (fs.Reader, error) {
	h, err := f.src.fs.OpenFile(f.rel())
	var st os.FileInfo
	if err == nil {
		if st, err = h.Stat(); err == nil && !st.Mode().IsRegular() {
			err = fmt.Errorf("%w: it is no regular file any more", ErrSource)
		}
		if err != nil {
			_ = h.Close()
		}
	}
	if err != nil {
		f.fail(err)
		return nil, err //nolint:wrapcheck // kopia stores the text with the entry
	}
	if f.opened.CompareAndSwap(false, true) {
		f.src.counts.changed(f.isKnown(ctx))
		f.extended.Store(extendedOf(h))
	}
	return &sourceReader{sourceHandle: f.src.holes.withHoles(h, st), entry: f}, nil
}

func (f *sourceFile) isKnown(ctx context.Context) bool {
	for _, p := range f.parent.previous(ctx) {
		if _, err := p.Child(ctx, f.name); err == nil {
			return true
		}
	}
	return false
}

type sourceReader struct {
	sourceHandle

	entry *sourceFile
}

func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.sourceHandle.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.entry.src.counts.unreadable(&r.entry.sourceEntry, err)
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

func (r *sourceReader) Entry() (fs.Entry, error) {
	st, err := r.Stat()
	if err != nil {
		return nil, err //nolint:wrapcheck // kopia looks at it
	}
	return &sourceFile{sourceEntry: sourceEntry{src: r.entry.src, parent: r.entry.parent, name: r.entry.name, info: st}}, nil
}

type sourceLink struct{ sourceEntry }

var _ fs.Symlink = (*sourceLink)(nil)

func (l *sourceLink) Close() { l.first() }

func (l *sourceLink) Readlink(context.Context) (string, error) {
	target, err := l.src.fs.Readlink(l.rel()) // kopia keeps its bytes as they are, UTF-8 or not
	if err != nil {
		l.fail(err)
	}
	return target, err //nolint:wrapcheck // kopia stores the text with the entry
}

// Resolve is asked for a .kopiaignore that is a link.
func (l *sourceLink) Resolve(context.Context) (fs.Entry, error) {
	return nil, fmt.Errorf("%w: rules behind a link are not read", ErrSource)
}

// sourceFault is an entry that cannot be stored.
type sourceFault struct {
	sourceEntry
	err error
}

var _ fs.ErrorEntry = (*sourceFault)(nil)

func (f *sourceFault) ErrorInfo() error { return f.err }

// Size is one that no stored file has: kopia compares even faults with what it knows, by size, time and mode, and would
// store the earlier file of that name again.
func (f *sourceFault) Size() int64 { return -1 }

func (f *sourceFault) Close() {
	if !f.first() {
		return
	}
	switch {
	case errors.Is(f.err, fs.ErrUnknown):
		if kind := kindOf(f.Mode()); f.src.counts.strict {
			f.src.counts.refuse(&f.sourceEntry, kind)
		} else {
			f.src.counts.unsupported(kind)
		}
	case errors.Is(f.err, ErrUnsupportedName):
		f.src.counts.badName(&f.sourceEntry)
	default:
		f.src.counts.unreadable(&f.sourceEntry, f.err)
	}
}

// Readable asks whether a folder can be listed by this uid at all.
func Readable(root string) error {
	d, err := openSource(root, nil, newSourceCounts())
	if err == nil {
		d.src.close()
	}
	return err
}

// IsReadOnly reports whether the mount that a folder is in forbids writing.
func IsReadOnly(root string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return false, fmt.Errorf("%w: look at the mount of %s: %w", ErrSource, root, err)
	}
	return st.Flags&unix.ST_RDONLY != 0, nil
}
