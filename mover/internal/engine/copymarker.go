// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
)

// copyMarker says whose copy has begun in a place. With it a later attempt may go on where a killed one ended, and only
// that: no other copy, and nothing that is not a copy.
type copyMarker struct {
	// Source is the unique id of the source.
	Source string   `json:"source"`
	Mode   copyMode `json:"mode"`
}

type copyMode string

// What is being copied.
const (
	copyBlobs     copyMode = "blobs"
	copySnapshots copyMode = "snapshots"
)

func (m copyMarker) write(ctx context.Context, st blob.Storage) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write %s: %w", copyMarkerID, err)
	}
	b := &blobBuffer{}
	defer b.Reset()
	_, _ = b.Write(text)
	if err := st.PutBlob(ctx, copyMarkerID, b, blob.PutOptions{}); err != nil {
		return fmt.Errorf("%w: write blob %s: %w", ErrStorage, copyMarkerID, err)
	}
	return nil
}

func removeMarker(ctx context.Context, st blob.Storage) error {
	if err := st.DeleteBlob(ctx, copyMarkerID); err != nil && !errors.Is(err, blob.ErrBlobNotFound) {
		return fmt.Errorf("%w: delete blob %s: %w", ErrStorage, copyMarkerID, err)
	}
	return nil
}

// destinationState is what a copy finds where it is to go.
type destinationState struct {
	location

	// uniqueID of the repository there, in hex; empty where there is none.
	uniqueID string
	// marker of a copy that has begun there; nil where none has.
	marker *copyMarker
}

// look looks at a place that a copy is to go to. It fails where it cannot tell.
func (s Storage) look(ctx context.Context) (destinationState, error) {
	loc, err := s.probe(ctx, false)
	if err != nil {
		return destinationState{}, err
	}
	d := destinationState{location: loc}
	if !loc.copying && !loc.initialized {
		return d, nil // not even a question: kopia writes its .shards with the first one
	}
	st, err := s.open(ctx)
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	defer st.Close(context.WithoutCancel(ctx))
	text, err := readSmall(ctx, st, copyMarkerID)
	switch {
	case err == nil:
		d.marker = &copyMarker{}
		if json.Unmarshal(text, d.marker) != nil || d.marker.Source == "" {
			return d, fmt.Errorf("%w: the %s holds %q, and it is not understood", ErrOccupied, s, copyMarkerID)
		}
	case !errors.Is(err, blob.ErrBlobNotFound):
		return d, err
	}
	if !loc.initialized {
		return d, nil
	}
	d.uniqueID, err = uniqueIDAt(ctx, st)
	return d, err
}

// uniqueIDAt reads the id of a repository without its password.
func uniqueIDAt(ctx context.Context, st blob.Reader) (string, error) {
	text, err := readSmall(ctx, st, format.KopiaRepositoryBlobID)
	if err != nil {
		return "", err
	}
	f, err := format.ParseKopiaRepositoryJSON(text)
	if err != nil || len(f.UniqueID) == 0 {
		return "", fmt.Errorf("%w: its %s is not understood", ErrOccupied, format.KopiaRepositoryBlobID)
	}
	return hex.EncodeToString(f.UniqueID), nil
}

// apartFrom refuses a destination that is the source, or that lies within it: a copy that is lost with its original is
// none, and each would find the other's blobs among its own.
func (s Storage) apartFrom(source Storage) error {
	switch {
	case s.Filesystem != nil && source.Filesystem != nil:
		to, from := realPath(s.Filesystem.Path), realPath(source.Filesystem.Path)
		if a, err := os.Stat(to); err == nil {
			if b, err := os.Stat(from); err == nil && os.SameFile(a, b) {
				to = from
			}
		}
		if within(to, from) || within(from, to) {
			return fmt.Errorf("%w: the destination %s and the source %s are not apart", ErrInvalidOption, s, source)
		}
	case s.S3 != nil && source.S3 != nil:
		if s.S3.endpoint() != source.S3.endpoint() || s.S3.Bucket != source.S3.Bucket {
			return nil
		}
		short, long := s.S3.Prefix, source.S3.Prefix
		if len(short) > len(long) {
			short, long = long, short
		}
		// Kopia lists one level: what is behind a further slash is not seen.
		if rest, ok := strings.CutPrefix(long, short); ok && !strings.Contains(rest, "/") {
			return fmt.Errorf("%w: the destination %s and the source %s are not apart", ErrInvalidOption, s, source)
		}
	default:
		to, from := s.remote(), source.remote()
		if to != nil && from != nil && to.address().overlaps(from.address()) {
			return fmt.Errorf("%w: the destination %s and the source %s are not apart", ErrInvalidOption, s, source)
		}
	}
	return nil
}

func realPath(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return filepath.Clean(p)
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
