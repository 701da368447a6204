// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"golang.org/x/sys/unix"
)

// Restore says how a snapshot is written into a folder. The zero value of every switch is kopia's own default, except
// where the name says otherwise.
type Restore struct {
	Target string
	// Parallel is how many chunks of large files, and how many files, are in memory at a time. Small is how many small
	// files may be under way where that is more: what they cost is not memory, but the time that a store takes to answer.
	Parallel int
	Small    int

	// DeleteExtra removes from the target, and from nowhere else, what the snapshot does not hold.
	DeleteExtra bool
	// InPlace writes into the existing file instead of a new one that takes its name when it is whole.
	InPlace bool
	// Sparse leaves holes where the content is zero.
	Sparse bool

	SkipOwners, SkipPermissions, SkipTimes bool
	// KeepFiles, KeepDirectories and KeepLinks refuse to overwrite what is there.
	KeepFiles, KeepDirectories, KeepLinks bool
	// SkipExisting leaves a file alone that has the right size and time, so that a second attempt goes on where the
	// first one ended.
	SkipExisting bool
	// Request names whom the restore is done for. What an earlier attempt of the same request has written is not written
	// again; empty means that nothing tells attempts apart.
	Request string
	// IgnoreErrors counts an entry that cannot be written and goes on.
	IgnoreErrors bool

	Progress *Counters

	// sum is told the checksum of every file that was written.
	sum func(rel string, sum []byte) error
	// wrap stands between the restore and its target in tests.
	wrap       func(targetDir) targetDir
	wrapDevice func(targetDevice) targetDevice
}

// Restored is the outcome.
type Restored struct {
	Files, Dirs, Links, Bytes int64
	Skipped, Deleted          int64
	// Failed counts entries that could not be written, with IgnoreErrors.
	Failed int64
	// Faults are the first of them.
	Faults    []Fault
	Ownership Ownership
}

// Ownership counts entries whose owner, mode and times were set, and those where one of them could not be.
type Ownership struct {
	Applied, Failed int64
	Paths           []Fault
}

// IsRemote reports that a network lies between the mover and the store.
func (r *Repository) IsRemote() bool {
	return r.storage.Filesystem == nil || isRemote(r.storage.Filesystem.Path)
}

// restorer walks one snapshot. It does the walk itself instead of handing an Output to kopia: kopia reads a folder's
// time as the newest time of what is in it, queues the whole tree in memory before it writes the first byte, and with
// ignored errors never finishes the folders above them.
type restorer struct {
	Restore

	repo *Repository
	euid int
	slot chan struct{} // one per worker beside the walking goroutine
	room chan struct{} // one per piece of a large file in memory
	mark mark

	mu  sync.Mutex
	out Restored
}

// Restore writes a snapshot below a target that must exist. It either has written everything when it returns nil, or
// says what is missing.
func (r *Repository) Restore(ctx context.Context, s Snapshot, o Restore) (Restored, error) {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return Restored{}, fmt.Errorf("restore %s: %w", s.ID, errNoRoot)
	}
	root, err := openTarget(o.Target)
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	if o.wrap != nil {
		root = o.wrap(root)
	}
	defer root.Close()
	o.Progress.TotalBytes.Store(s.Size)
	o.Progress.TotalFiles.Store(s.Files)
	w := &restorer{
		Restore: o, repo: r, euid: os.Geteuid(),
		slot: make(chan struct{}, max(o.Parallel-1, o.Small-1, 0)), room: make(chan struct{}, max(o.Parallel, 1)),
	}
	err = w.start(ctx, root, s.manifest)
	if err == nil {
		// Durable before it is reported.
		if err = root.Sync(); err != nil {
			err = fmt.Errorf("%w: sync: %w", ErrTarget, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out, err
}

func (w *restorer) start(ctx context.Context, root targetDir, m *snapshot.Manifest) error {
	e := m.RootEntry
	if e.Type == snapshot.EntryTypeDirectory {
		entries, err := w.repo.readDir(ctx, e)
		if err != nil {
			return err
		}
		if err := w.begin(root, m, entries); err != nil {
			return err
		}
		return w.folder(ctx, place{in: root, name: "."}, "", e, entries)
	}
	// A single file or stream is restored as that file inside the target.
	if err := checkName(e.Name); err != nil {
		return err
	}
	return w.entry(ctx, place{in: root, name: e.Name}, e.Name, e)
}

// place is a name in a folder.
type place struct {
	in   targetDir
	name string
	// fresh: the folder was made by this restore, so nothing of that name is in it.
	fresh bool
	// parts are names in the snapshot's folder that look like those of parts; nil nearly always.
	parts map[string]bool
}

// dir restores a folder: itself, then what is in it, then its owner, mode and time. The time has to be last, every
// entry written into it changes it.
func (w *restorer) dir(ctx context.Context, at place, rel string, e *snapshot.DirEntry) error {
	entries, err := w.repo.readDir(ctx, e)
	if err != nil {
		return w.tolerate(ctx, rel, e, err)
	}
	return w.folder(ctx, at, rel, e, entries)
}

func (w *restorer) folder(ctx context.Context, at place, rel string, e *snapshot.DirEntry, entries []*snapshot.DirEntry) error {
	dir, fresh, err := w.beginDir(at, rel, entries)
	if err != nil {
		return w.tolerate(ctx, rel, e, err)
	}
	defer dir.Close()
	if err := w.children(ctx, dir, fresh, rel, entries); err != nil {
		return err
	}
	if rel == "" {
		if err := w.finish(dir, entries); err != nil {
			return err
		}
	}
	w.count(func(o *Restored) { o.Dirs++ })
	w.attributes(dir, rel, e)
	return nil
}

// children restores entries, in other workers as long as there are any, else here. So at most one folder per level and
// worker is in memory, however large the tree.
func (w *restorer) children(ctx context.Context, dir targetDir, fresh bool, rel string, entries []*snapshot.DirEntry) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	parts := partsAmong(entries)
	run := func(e *snapshot.DirEntry) {
		if err := w.entry(ctx, place{dir, e.Name, fresh, parts}, path.Join(rel, e.Name), e); err != nil {
			cancel(err) // the first one wins
		}
	}
	for i, e := range entries {
		if ctx.Err() != nil {
			break
		}
		w.share(&wg, i == len(entries)-1, func() { run(e) })
	}
	wg.Wait()
	return context.Cause(ctx)
}

// share does a piece of work in another worker, if one is free, else here. Who shares out the last piece would only wait
// for it, and does it instead.
func (w *restorer) share(wg *sync.WaitGroup, last bool, work func()) {
	if last {
		work()
		return
	}
	select {
	case w.slot <- struct{}{}:
		wg.Go(func() {
			defer func() { <-w.slot }()
			work()
		})
	default:
		work()
	}
}

func (w *restorer) entry(ctx context.Context, at place, rel string, e *snapshot.DirEntry) error {
	switch e.Type {
	case snapshot.EntryTypeDirectory:
		return w.dir(ctx, at, rel, e)
	case snapshot.EntryTypeFile:
		defer w.Progress.Files.Add(1)
		return w.tolerate(ctx, rel, e, w.file(ctx, at, rel, e))
	case snapshot.EntryTypeSymlink:
		return w.tolerate(ctx, rel, e, w.link(ctx, at, rel, e))
	default:
		return w.tolerate(ctx, rel, e, fmt.Errorf("restore %s: unknown entry type %q", rel, e.Type))
	}
}

// tolerate counts an error where the user asked to go on. The end of the context is never tolerated, nor is a full
// target or a store that does not answer: every further file would fail the same way.
func (w *restorer) tolerate(ctx context.Context, rel string, e *snapshot.DirEntry, err error) error {
	if err == nil {
		return nil
	}
	outage := errors.Is(err, ErrStorage) && !errors.Is(err, ErrDamaged)
	if !w.IgnoreErrors || ctx.Err() != nil || outage || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	w.count(func(o *Restored) {
		o.Failed++
		if len(o.Faults) < MaxPaths {
			o.Faults = append(o.Faults, restoreFault(rel, e, err))
		}
	})
	return nil
}

func (w *restorer) count(f func(*Restored)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.out)
}

// readDir reads a stored folder as it is. Kopia's reader would replace the time of every folder in it.
func (r *Repository) readDir(ctx context.Context, e *snapshot.DirEntry) ([]*snapshot.DirEntry, error) {
	rd, err := r.rep.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return nil, storageError("read a folder", err)
	}
	defer rd.Close()
	var m snapshot.DirManifest
	if err := json.NewDecoder(rd).Decode(&m); err != nil {
		return nil, storageError("read a folder", err)
	}
	if m.StreamType != dirStream {
		return nil, storageError("read a folder", fmt.Errorf("unknown format %q", m.StreamType))
	}
	seen := make(map[string]bool, len(m.Entries))
	for _, c := range m.Entries {
		if err := checkName(c.Name); err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("%w: %q twice in one folder", ErrBadName, c.Name)
		}
		seen[c.Name] = true
	}
	return m.Entries, nil
}

// dirStream marks a stored folder.
const dirStream = "kopia:directory"

func (r *Repository) readLink(ctx context.Context, id object.ID) (string, error) {
	rd, err := r.rep.OpenObject(ctx, id)
	if err != nil {
		return "", storageError("read a link", err)
	}
	defer rd.Close()
	b, err := io.ReadAll(io.LimitReader(rd, unix.PathMax+1))
	if err != nil {
		return "", storageError("read a link", err)
	}
	if len(b) > unix.PathMax {
		return "", fmt.Errorf("%w: a link target of more than %d bytes", ErrBadName, unix.PathMax)
	}
	return string(b), nil
}

// checkName refuses names that no folder can hold. os.Root would stop most of them; a clear word is better.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || filepath.Base(name) != name {
		return fmt.Errorf("%w: %q", ErrBadName, name)
	}
	return nil
}

func restoreFault(rel string, e *snapshot.DirEntry, err error) Fault {
	if rel == "" {
		rel = "."
	}
	return Fault{Path: rel, UID: int64(e.UserID), Mode: modeOf(e), Reason: reasonOf(err), Cause: err}
}

// modeOf is the stored mode with its type.
func modeOf(e *snapshot.DirEntry) os.FileMode {
	m := os.FileMode(e.Permissions) //nolint:gosec // twelve bits
	switch e.Type {
	case snapshot.EntryTypeDirectory:
		m |= os.ModeDir
	case snapshot.EntryTypeSymlink:
		m |= os.ModeSymlink
	}
	return m
}
