// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
)

// folder tells from the names in a folder what it holds. Kopia keeps its blobs in files, and in folders below, wherever
// it has folders: on a disk, behind SSH, behind WebDAV.
func (s Storage) folder(ctx context.Context, names []string) (location, error) {
	var loc location
	sharded := false
	for _, name := range names {
		switch {
		case name == ".shards":
			sharded = true
		case name == format.KopiaRepositoryBlobID+".f":
			loc.initialized = true
		case name == format.KopiaBlobCfgBlobID+".f":
			loc.begun = true
		case name == string(copyMarkerID)+".f":
			loc.copying = true
		case !isLeftover(name) && !isTorn(name) && loc.found == "":
			loc.found = name
		}
	}
	if loc.initialized {
		return location{initialized: true, copying: loc.copying}, nil
	}
	loc.begun = loc.begun && loc.found == ""
	if loc.found == "" || !sharded || loc.copying {
		return loc, nil
	}
	// A layout of somebody's own may keep the format blob elsewhere: ask kopia before calling it foreign. Only then: even
	// a question makes kopia write .shards where there is none.
	bs, err := s.open(ctx)
	if err != nil {
		return location{}, err
	}
	defer bs.Close(context.WithoutCancel(ctx))
	_, err = unretried(bs).GetMetadata(ctx, format.KopiaRepositoryBlobID)
	if err == nil {
		return location{initialized: true}, nil
	}
	if errors.Is(err, blob.ErrBlobNotFound) {
		return loc, nil
	}
	return location{}, fmt.Errorf("%w: %w", ErrStorage, err)
}

// isLeftover reports names that do not count as "something is here": a fresh ext4 volume has lost+found, NFS servers show
// their own snapshots, and kopia writes .shards before anything else.
func isLeftover(name string) bool {
	switch name {
	case "lost+found", ".snapshot", ".snapshots", ".zfs", ".shards":
		return true
	default:
		return strings.HasPrefix(name, ".nfs") || strings.HasPrefix(name, clockFile)
	}
}

// isTorn reports whether a file is one of those that kopia was writing when a create was killed.
func isTorn(name string) bool {
	for _, whole := range []string{".shards", format.KopiaBlobCfgBlobID + ".f", format.KopiaRepositoryBlobID + ".f", string(copyMarkerID) + ".f"} {
		if strings.HasPrefix(name, whole+".tmp.") { // on a disk, and behind SSH
			return true
		}
		number, ok := strings.CutPrefix(name, whole+"-") // behind WebDAV
		if _, err := strconv.ParseUint(number, 10, 63); ok && err == nil {
			return true
		}
	}
	return false
}
