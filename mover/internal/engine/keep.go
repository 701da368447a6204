// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
)

// keepAll is a retention in which all six numbers are zero, and which kopia reads as "keep everything". Leaving them out
// would inherit its default, which prunes.
func keepAll() policy.RetentionPolicy {
	zero := func() *policy.OptionalInt { return new(policy.OptionalInt) }
	return policy.RetentionPolicy{
		KeepLatest: zero(), KeepHourly: zero(), KeepDaily: zero(),
		KeepWeekly: zero(), KeepMonthly: zero(), KeepAnnual: zero(),
	}
}

func keepsAll(r policy.RetentionPolicy) bool {
	for _, n := range []*policy.OptionalInt{r.KeepLatest, r.KeepHourly, r.KeepDaily, r.KeepWeekly, r.KeepMonthly, r.KeepAnnual} {
		if n == nil || *n != 0 {
			return false
		}
	}
	return true
}

// ensureKeepAll stores the policy above on the exact source, and keeps whatever else is stored there. Without it the
// checkpoints of a long upload prune finished snapshots: executed with 60 of them, 12 were left (K-11).
func ensureKeepAll(ctx context.Context, w repo.RepositoryWriter, src snapshot.SourceInfo) error {
	p, err := policy.GetDefinedPolicy(ctx, w, src)
	switch {
	case errors.Is(err, policy.ErrPolicyNotFound):
		p = &policy.Policy{}
	case err != nil:
		return fmt.Errorf("%w: read the policy of %s: %w", ErrStorage, src, err)
	case keepsAll(p.RetentionPolicy):
		return nil
	}
	identical := p.RetentionPolicy.IgnoreIdenticalSnapshots
	p.RetentionPolicy = keepAll()
	p.RetentionPolicy.IgnoreIdenticalSnapshots = identical
	if err := policy.SetPolicy(ctx, w, src, p); err != nil {
		return fmt.Errorf("store the policy of %s: %w", src, err)
	}
	return nil
}

// KeepAll stores that policy on every given identity that has not got it yet.
func (r *Repository) KeepAll(ctx context.Context, ids []Identity) error {
	var missing []snapshot.SourceInfo
	for _, id := range ids {
		src := id.source()
		p, err := policy.GetDefinedPolicy(ctx, r.rep, src)
		switch {
		case err != nil && !errors.Is(err, policy.ErrPolicyNotFound):
			return fmt.Errorf("%w: read the policy of %s: %w", ErrStorage, src, err)
		case err != nil || !keepsAll(p.RetentionPolicy):
			missing = append(missing, src)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return r.write(ctx, "keep snapshots", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		for _, src := range missing {
			if err := ensureKeepAll(ctx, w, src); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropIncomplete deletes the checkpoints of a source that a saved snapshot made superfluous, including those of earlier
// attempts, but not those of an upload that began later.
func dropIncomplete(ctx context.Context, w repo.RepositoryWriter, saved *snapshot.Manifest) error {
	all, err := snapshot.ListSnapshots(ctx, w, saved.Source)
	if err != nil {
		return fmt.Errorf("%w: list checkpoints of %s: %w", ErrStorage, saved.Source, err)
	}
	for _, m := range all {
		if m.IncompleteReason == "" || m.ID == saved.ID || len(m.Pins) > 0 || startsAfter(m.StartTime, saved.StartTime) {
			continue
		}
		if err := w.DeleteManifest(ctx, m.ID); err != nil {
			return fmt.Errorf("delete checkpoint %s: %w", m.ID, err)
		}
	}
	return nil
}

func startsAfter(a, b fs.UTCTimestamp) bool { return a.After(b) }
