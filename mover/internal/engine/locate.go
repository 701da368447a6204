// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopia/kopia/repo/manifest"
	"github.com/kopia/kopia/snapshot"
)

// Key names one snapshot by its id, and by what stays when the id changes: pinning rewrites a manifest (K-3). Kopia keeps
// nanoseconds and Kubernetes seconds, so a second decides.
type Key struct {
	ID       string
	Identity Identity
	Start    time.Time
}

func (k Key) String() string {
	return fmt.Sprintf("%s (%s at %s)", or(k.ID, "without an id"), k.Identity, k.Start.UTC().Format(time.RFC3339))
}

// names reports that a snapshot is the one a key means, whatever its id is now.
func (k Key) names(s Snapshot) bool {
	return s.Identity == k.Identity && (k.Start.IsZero() || sameSecond(s.Start, k.Start))
}

func sameSecond(a, b time.Time) bool { return a.Truncate(time.Second).Equal(b.Truncate(time.Second)) }

// Locate finds one snapshot. It returns ErrSnapshotNotFound where there is none, and ErrMismatch where it cannot be told
// which one is meant: the id is that of something else, or two have the same identity and start.
func (r *Repository) Locate(ctx context.Context, k Key) (Snapshot, error) {
	return (&locator{r: r}).find(ctx, k)
}

// locator remembers what it listed: a batch asks for many snapshots of few identities.
type locator struct {
	r      *Repository
	listed map[Identity]listing
}

type listing struct {
	snapshots []Snapshot
	// unreadable: a manifest of the identity cannot be decoded, so it cannot be told which snapshot it is.
	unreadable bool
}

func (l *locator) find(ctx context.Context, k Key) (Snapshot, error) {
	var taken bool
	if k.ID != "" {
		s, err := l.byID(ctx, k)
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ErrMismatch):
			taken = true
		case !errors.Is(err, ErrSnapshotNotFound):
			return Snapshot{}, err
		}
	}
	s, err := l.byStart(ctx, k)
	if taken && errors.Is(err, ErrSnapshotNotFound) {
		return Snapshot{}, fmt.Errorf("find %s: %w: the id is that of something else", k, ErrMismatch)
	}
	return s, err
}

func (l *locator) byID(ctx context.Context, k Key) (Snapshot, error) {
	md, err := l.r.rep.GetManifest(ctx, manifest.ID(k.ID), nil)
	switch {
	case errors.Is(err, manifest.ErrNotFound):
		return Snapshot{}, fmt.Errorf("find %s: %w", k, ErrSnapshotNotFound)
	case err != nil:
		return Snapshot{}, fmt.Errorf("%w: find %s: %w", ErrStorage, k, err)
	}
	label := md.Labels
	id := Identity{Username: label[snapshot.UsernameLabel], Hostname: label[snapshot.HostnameLabel], Path: label[snapshot.PathLabel]}
	if label[manifest.TypeLabelKey] != snapshot.ManifestType || id != k.Identity {
		return Snapshot{}, fmt.Errorf("find %s: %w", k, ErrMismatch)
	}
	m, err := snapshot.LoadSnapshot(ctx, l.r.rep, manifest.ID(k.ID))
	if err != nil {
		// The manifest cannot be decoded. Its id and identity are those asked for, and nobody can restore it: it may be
		// deleted, and nothing else can be done with it.
		return Snapshot{ID: k.ID, Identity: id, Incomplete: unreadable}, nil //nolint:nilerr // see above
	}
	if s := snapshotOf(m); k.names(s) {
		return s, nil
	}
	return Snapshot{}, fmt.Errorf("find %s: %w", k, ErrMismatch)
}

// unreadable is why a snapshot whose manifest cannot be decoded is not complete.
const unreadable = "the manifest cannot be decoded"

func (l *locator) byStart(ctx context.Context, k Key) (Snapshot, error) {
	none := fmt.Errorf("find %s: %w", k, ErrSnapshotNotFound)
	if k.Start.IsZero() || k.Identity.Username == "" || k.Identity.Hostname == "" || k.Identity.Path == "" {
		return Snapshot{}, none
	}
	all, err := l.list(ctx, k.Identity)
	if err != nil {
		return Snapshot{}, err
	}
	var found []Snapshot
	for _, s := range all.snapshots {
		if s.Complete() && k.names(s) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Snapshot{}, fmt.Errorf("find %s: %w: %d snapshots started in that second", k, ErrMismatch, len(found))
	case all.unreadable:
		return Snapshot{}, fmt.Errorf("find %s: %w: a manifest of the same identity cannot be decoded and may be it", k, ErrMismatch)
	default:
		return Snapshot{}, none
	}
}

func (l *locator) list(ctx context.Context, id Identity) (listing, error) {
	if have, ok := l.listed[id]; ok {
		return have, nil
	}
	src := id.source()
	all, bad, err := l.r.loadReadable(ctx, &src)
	if err != nil {
		return listing{}, err
	}
	if l.listed == nil {
		l.listed = map[Identity]listing{}
	}
	l.listed[id] = listing{snapshots: all, unreadable: len(bad) > 0}
	return l.listed[id], nil
}
