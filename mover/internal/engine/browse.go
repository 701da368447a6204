// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"github.com/kopia/kopia/snapshot"
)

// Entry is one stored entry, as somebody who looks around wants to see it.
type Entry struct {
	Name     string
	Mode     os.FileMode
	Size     int64
	UID, GID int64
	ModTime  time.Time
	// Files is how many files are below a folder.
	Files int64

	dir *snapshot.DirEntry
}

func entryOf(e *snapshot.DirEntry) Entry {
	out := Entry{
		Name: e.Name, Mode: modeOf(e), Size: e.FileSize, UID: int64(e.UserID), GID: int64(e.GroupID),
		ModTime: e.ModTime.ToTime().UTC(), dir: e,
	}
	if s := e.DirSummary; s != nil {
		out.Size, out.Files = s.TotalFileSize, s.TotalFileCount
	}
	return out
}

// Root is the one entry that a view of a snapshot shows, see Part.
func (r *Repository) Root(s Snapshot) (Entry, error) {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return Entry{}, fmt.Errorf("look into %s: %w", s.ID, errNoRoot)
	}
	return entryOf(s.manifest.RootEntry), nil
}

// Entries lists a folder in the order of names.
func (r *Repository) Entries(ctx context.Context, folder Entry) ([]Entry, error) {
	children, err := r.readDir(ctx, folder.dir)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(children))
	for i, c := range children {
		out[i] = entryOf(c)
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// LinkTarget is where a symbolic link points to.
func (r *Repository) LinkTarget(ctx context.Context, link Entry) (string, error) {
	return r.readLink(ctx, link.dir.ObjectID)
}

// Read opens a file.
func (r *Repository) Read(ctx context.Context, file Entry) (io.ReadCloser, error) {
	rd, err := r.rep.OpenObject(ctx, file.dir.ObjectID)
	if err != nil {
		return nil, storageError("open content", err)
	}
	return rd, nil
}

// Walk visits an entry and all that is below it, folders before what is in them. At most one folder per level is in
// memory.
func (r *Repository) Walk(ctx context.Context, e Entry, visit func(rel string, e Entry) error) error {
	return r.walk(ctx, ".", e, visit)
}

func (r *Repository) walk(ctx context.Context, rel string, e Entry, visit func(rel string, e Entry) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := visit(rel, e); err != nil || !e.Mode.IsDir() {
		return err
	}
	children, err := r.Entries(ctx, e)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := r.walk(ctx, path.Join(rel, c.Name), c, visit); err != nil {
			return err
		}
	}
	return nil
}
