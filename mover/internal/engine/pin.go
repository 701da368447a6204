// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/snapshot"
)

// ownPin is the name of Kopiur's pin. Others belong to whoever made them.
const ownPin = "kopiur"

// Pinned reports that the snapshot has Kopiur's pin.
func (s Snapshot) Pinned() bool { return slices.Contains(s.Pins, ownPin) }

// Pinned is a snapshot after SetPin.
type Pinned struct {
	// Snapshot has the id it has now.
	Snapshot Snapshot
	Changed  bool
	// Others counts pins that are not ours.
	Others int64
}

// SetPin pins one complete snapshot or takes the pin off. Kopia cannot change a manifest: it writes a new one and deletes
// the old one, both in one write, so that there is never none and never two.
func (r *Repository) SetPin(ctx context.Context, k Key, pinned bool) (Pinned, error) {
	s, err := r.Locate(ctx, k)
	if err != nil {
		return Pinned{}, err
	}
	if !s.Complete() {
		return Pinned{}, fmt.Errorf("pin %s: it is incomplete (%s): %w", k, s.Incomplete, ErrMismatch)
	}
	m := s.manifest.Clone()
	m.ID = s.manifest.ID
	var add, remove []string
	if pinned {
		add = []string{ownPin}
	} else {
		remove = []string{ownPin}
	}
	out := Pinned{Snapshot: s, Changed: m.UpdatePins(add, remove)}
	for _, p := range m.Pins {
		if p != ownPin {
			out.Others++
		}
	}
	if !out.Changed {
		return out, nil
	}
	err = r.write(ctx, "pin a snapshot", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		return snapshot.UpdateSnapshot(ctx, w, m) //nolint:wrapcheck // wrapped by write
	})
	if err != nil {
		return Pinned{}, err
	}
	out.Snapshot = snapshotOf(m)
	return out, nil
}
