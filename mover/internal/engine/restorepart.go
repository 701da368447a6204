// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kopia/kopia/snapshot"
)

// Part is the view of a snapshot that shows only the file or folder at a path, ErrNotInSnapshot where there is none. Its
// sizes and counts are those of the part. A link on the way is not followed: it may lead anywhere.
func (r *Repository) Part(ctx context.Context, s Snapshot, sub string) (Snapshot, error) {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return Snapshot{}, fmt.Errorf("look into %s: %w", s.ID, errNoRoot)
	}
	names, err := splitPath(sub)
	if err != nil {
		return Snapshot{}, err
	}
	e := s.manifest.RootEntry
	for i, name := range names {
		if e.Type != snapshot.EntryTypeDirectory {
			return Snapshot{}, fmt.Errorf("%w: %q is no folder", ErrNotInSnapshot, path.Join(names[:i]...))
		}
		entries, err := r.readDir(ctx, e)
		if err != nil {
			return Snapshot{}, err
		}
		at := slices.IndexFunc(entries, func(c *snapshot.DirEntry) bool { return c.Name == name })
		if at < 0 {
			return Snapshot{}, fmt.Errorf("%w: %q", ErrNotInSnapshot, path.Join(names[:i+1]...))
		}
		e = entries[at]
	}
	m := s.manifest.Clone()
	m.RootEntry = e
	return snapshotOf(m), nil
}

// splitPath takes a path apart. A path that goes up is a mistake, and not worth guessing what it means.
func splitPath(sub string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(sub, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("%w: the path %q goes up", ErrInvalidOption, sub)
		}
		names = append(names, name)
	}
	return names, nil
}
