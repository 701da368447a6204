// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/maintenance"
)

// OwnerRule says whose ownership of maintenance may be taken over.
type OwnerRule struct {
	// Aliases are earlier names of this client.
	Aliases []string
	Anyone  bool
}

// MaintenanceOwner is whom kopia lets run maintenance, as user@host.
type MaintenanceOwner struct {
	Owner string
	// Previous is whom it was taken over from just now, "" where it was not.
	Previous string
}

// Own makes this client the maintenance owner where nobody is, or where the rule allows it; otherwise it says who is.
// Kopia lets nobody else run maintenance: an owner that is gone for good lets index blobs grow without end (C-6, C-7).
func (r *Repository) Own(ctx context.Context, rule OwnerRule) (MaintenanceOwner, error) {
	has, err := maintenance.HasParams(ctx, r.rep)
	if err != nil {
		return MaintenanceOwner{}, fmt.Errorf("%w: read maintenance parameters: %w", ErrStorage, err)
	}
	p, err := r.maintenanceParams(ctx)
	if err != nil {
		return MaintenanceOwner{}, err
	}
	out := MaintenanceOwner{Owner: p.Owner}
	if !has {
		out.Owner = ""
	}
	if out.Owner == r.Owner() || r.rep.ClientOptions().ReadOnly ||
		(out.Owner != "" && !rule.Anyone && !slices.Contains(rule.Aliases, out.Owner)) {
		return out, nil
	}
	err = r.write(ctx, "own maintenance", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		mine := *p
		mine.Owner = r.Owner()
		if err := maintenance.SetParams(ctx, w, &mine); err != nil {
			return fmt.Errorf("store the maintenance owner: %w", err)
		}
		return nil
	})
	if err != nil {
		return MaintenanceOwner{}, err
	}
	return MaintenanceOwner{Owner: r.Owner(), Previous: out.Owner}, nil
}
