// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/manifest"
	"github.com/kopia/kopia/snapshot"
)

// tagPrefix is how kopia stores a tag as a label.
const tagPrefix = "tag:"

// Identity is what a snapshot is filed under.
type Identity struct {
	Username, Hostname, Path string
}

func (i Identity) source() snapshot.SourceInfo {
	return snapshot.SourceInfo{UserName: i.Username, Host: i.Hostname, Path: i.Path}
}

func (i Identity) String() string { return i.Username + "@" + i.Hostname + ":" + i.Path }

// Snapshot is one stored manifest.
type Snapshot struct {
	ID          string
	RootID      string
	Identity    Identity
	Start, End  time.Time
	Description string
	Tags        map[string]string
	// Incomplete is why an upload did not get to its end, "" for a complete snapshot.
	Incomplete string
	// Failed counts entries that are missing because they could not be read and the policy did not tolerate it; Tolerated
	// those it did.
	Failed, Tolerated int64
	Size, Files, Dirs int64
	// Pins are the names of its pins, sorted.
	Pins []string
	// Faults are the first entries that kopia could not read, as it stored them: path and reason only.
	Faults []Fault

	manifest *snapshot.Manifest
}

// RootOwner is the uid of the stored root folder or file.
func (s Snapshot) RootOwner() int {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return -1
	}
	return int(s.manifest.RootEntry.UserID)
}

// Complete reports that the upload got to its end. Entries may still be missing from it, see Failed.
func (s Snapshot) Complete() bool { return s.Incomplete == "" }

func snapshotOf(m *snapshot.Manifest) Snapshot {
	s := Snapshot{
		ID:       string(m.ID),
		RootID:   m.RootObjectID().String(),
		Identity: Identity{Username: m.Source.UserName, Hostname: m.Source.Host, Path: m.Source.Path},
		Start:    m.StartTime.ToTime().UTC(), End: m.EndTime.ToTime().UTC(),
		Description: m.Description, Incomplete: m.IncompleteReason, Pins: m.Pins, manifest: m,
	}
	for k, v := range m.Tags {
		if name, ok := strings.CutPrefix(k, tagPrefix); ok {
			if s.Tags == nil {
				s.Tags = map[string]string{}
			}
			s.Tags[name] = v
		}
	}
	if e := m.RootEntry; e != nil {
		s.Size, s.Files = e.FileSize, 1
		if d := e.DirSummary; d != nil {
			s.Size, s.Files, s.Dirs = d.TotalFileSize, d.TotalFileCount, d.TotalDirCount
			s.Failed, s.Tolerated = int64(d.FatalErrorCount), int64(d.IgnoredErrorCount)
			for _, f := range d.FailedEntries {
				s.Faults = append(s.Faults, Fault{Path: f.EntryPath, Reason: f.Error})
			}
		}
	}
	return s
}

// List returns the snapshots of an identity, newest first. A path of "" means every path of that user and host. Unlike
// kopia's own listing it fails on a manifest that cannot be read: leaving it out would prove an absence that is none.
func (r *Repository) List(ctx context.Context, id Identity) ([]Snapshot, error) {
	src := id.source()
	if id.Username == "" || id.Hostname == "" {
		return nil, errors.New("list snapshots: an identity needs a user and a host")
	}
	ids, err := snapshot.ListSnapshotManifests(ctx, r.rep, &src, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: list snapshots of %s: %w", ErrStorage, id, err)
	}
	return r.load(ctx, ids)
}

// All returns every snapshot of the repository, newest first. It tells a list that is damaged from a store that does not
// answer.
func (r *Repository) All(ctx context.Context) ([]Snapshot, error) {
	ids, err := snapshot.ListSnapshotManifests(ctx, r.rep, nil, nil)
	if err != nil {
		return nil, storageError("list snapshots", err)
	}
	out := make([]Snapshot, 0, len(ids))
	for _, id := range ids {
		m, err := snapshot.LoadSnapshot(ctx, r.rep, id)
		if err != nil {
			return nil, storageError("load snapshot "+string(id), err)
		}
		out = append(out, snapshotOf(m))
	}
	newestFirst(out)
	return out, nil
}

// CountBlobs counts what the store holds of the repository: the kinds that a copy takes along.
func (r *Repository) CountBlobs(ctx context.Context) (n int64, err error) {
	err = r.rep.BlobReader().ListBlobs(ctx, "", func(m blob.Metadata) error {
		if isCopied(kindOfBlob(m.BlobID)) {
			n++
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("%w: list blobs: %w", ErrStorage, err)
	}
	return n, nil
}

// FindByTag returns the complete snapshots that carry a tag, newest first.
func (r *Repository) FindByTag(ctx context.Context, key, value string) ([]Snapshot, error) {
	ids, err := snapshot.ListSnapshotManifests(ctx, r.rep, nil, map[string]string{tagPrefix + key: value})
	if err != nil {
		return nil, fmt.Errorf("%w: look for snapshots with tag %s: %w", ErrStorage, key, err)
	}
	all, err := r.load(ctx, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s Snapshot) bool { return !s.Complete() }), nil
}

// Load returns one snapshot by its manifest id, or ErrSnapshotNotFound.
func (r *Repository) Load(ctx context.Context, id string) (Snapshot, error) {
	m, err := snapshot.LoadSnapshot(ctx, r.rep, manifest.ID(id))
	if errors.Is(err, snapshot.ErrSnapshotNotFound) {
		return Snapshot{}, fmt.Errorf("load snapshot %s: %w", id, err)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("%w: load snapshot %s: %w", ErrStorage, id, err)
	}
	return snapshotOf(m), nil
}

// Find returns the complete snapshot of an identity that started at a time: what is left when a manifest id is gone,
// because pinning rewrites it (K-3). Kopia keeps nanoseconds and Kubernetes seconds, so a second decides.
func (r *Repository) Find(ctx context.Context, id Identity, start time.Time) (Snapshot, error) {
	all, err := r.List(ctx, id)
	if err != nil {
		return Snapshot{}, err
	}
	want := start.UTC().Truncate(time.Second)
	for _, s := range all {
		if s.Complete() && s.Start.Truncate(time.Second).Equal(want) {
			return s, nil
		}
	}
	return Snapshot{}, fmt.Errorf("find a snapshot of %s that started at %s: %w", id, want.Format(time.RFC3339), ErrSnapshotNotFound)
}

func (r *Repository) load(ctx context.Context, ids []manifest.ID) ([]Snapshot, error) {
	out := make([]Snapshot, 0, len(ids))
	for _, id := range ids {
		m, err := snapshot.LoadSnapshot(ctx, r.rep, id)
		if err != nil {
			return nil, fmt.Errorf("%w: load snapshot %s: %w", ErrStorage, id, err)
		}
		out = append(out, snapshotOf(m))
	}
	newestFirst(out)
	return out, nil
}

// loadReadable returns the snapshots of a source, or all with nil, newest first, and the ids of those whose manifest
// cannot be decoded. They exist: what is not in the list is not proven absent while there are any.
func (r *Repository) loadReadable(ctx context.Context, src *snapshot.SourceInfo) (all []Snapshot, bad []string, err error) {
	ids, err := snapshot.ListSnapshotManifests(ctx, r.rep, src, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: list snapshots: %w", ErrStorage, err)
	}
	all = make([]Snapshot, 0, len(ids))
	for _, id := range ids {
		m, err := snapshot.LoadSnapshot(ctx, r.rep, id)
		switch {
		case err == nil:
			all = append(all, snapshotOf(m))
		case errors.Is(err, snapshot.ErrSnapshotNotFound): // deleted meanwhile
		case ctx.Err() != nil:
			return nil, nil, fmt.Errorf("%w: load snapshot %s: %w", ErrStorage, id, err)
		default:
			// All manifests are in memory since the list was made: what fails here is the decoding.
			bad = append(bad, string(id))
		}
	}
	newestFirst(all)
	return all, bad, nil
}

func newestFirst(all []Snapshot) {
	slices.SortFunc(all, func(a, b Snapshot) int {
		if c := b.Start.Compare(a.Start); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Stats describes a repository.
type Stats struct {
	// Complete are all complete snapshots, newest first.
	Complete []Snapshot
	// Unreadable are the ids of snapshots whose manifest cannot be decoded.
	Unreadable []string
	// TotalBytes is the sum over the newest complete snapshot of every source.
	TotalBytes                     int64
	IndexBlobCount, IndexBlobBytes int64
}

// Stats reads the snapshots and counts the index blobs. One manifest that cannot be decoded must not keep anybody from
// the others.
func (r *Repository) Stats(ctx context.Context) (Stats, error) {
	all, bad, err := r.loadReadable(ctx, nil)
	if err != nil {
		return Stats{}, err
	}
	st := Stats{Unreadable: bad, Complete: slices.DeleteFunc(all, func(s Snapshot) bool { return !s.Complete() })}
	newest := map[Identity]bool{}
	for _, s := range st.Complete {
		if !newest[s.Identity] {
			newest[s.Identity] = true
			st.TotalBytes += s.Size
		}
	}
	st.IndexBlobCount, st.IndexBlobBytes, err = r.indexBlobs(ctx)
	return st, err
}

// indexBlobs counts the index blobs that an open has to read.
func (r *Repository) indexBlobs(ctx context.Context) (count, bytes int64, err error) {
	blobs, err := r.rep.IndexBlobs(ctx, false)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: list index blobs: %w", ErrStorage, err)
	}
	for _, b := range blobs {
		count++
		bytes += b.Length
	}
	return count, bytes, nil
}
