// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
	"github.com/kopia/kopia/repo/maintenance"
)

// Epoch decides how long index blobs collect before they are compacted, and so how many there are.
type Epoch struct {
	MinDuration, RefreshFrequency time.Duration
	AdvanceOnCount                int
	AdvanceOnBytes                int64
	CheckpointFrequency           int
	DeleteParallelism             int
	CleanupSafetyMargin           time.Duration
	Enabled                       bool
}

// BlobRetention locks every blob for a time after it was written. The zero value locks nothing.
type BlobRetention struct {
	Compliance bool
	Period     time.Duration
}

// Parameters are those of a repository that can be changed later.
type Parameters struct {
	Epoch     Epoch
	Retention BlobRetention
	// Extends: each full maintenance locks anew what is still there. LeastExtended is the shortest period that lets it.
	Extends       bool
	LeastExtended time.Duration
}

// Parameters reads what the repository has.
func (r *Repository) Parameters(ctx context.Context) (Parameters, error) {
	mp, blobs, err := r.mutable(ctx)
	if err != nil {
		return Parameters{}, err
	}
	e := mp.EpochParameters
	out := Parameters{Epoch: Epoch{
		Enabled: e.Enabled, MinDuration: e.MinEpochDuration, RefreshFrequency: e.EpochRefreshFrequency,
		AdvanceOnCount: e.EpochAdvanceOnCountThreshold, AdvanceOnBytes: e.EpochAdvanceOnTotalSizeBytesThreshold,
		CheckpointFrequency: e.FullCheckpointFrequency, DeleteParallelism: e.DeleteParallelism, CleanupSafetyMargin: e.CleanupSafetyMargin,
	}}
	if blobs.IsRetentionEnabled() {
		out.Retention = BlobRetention{Compliance: blobs.RetentionMode == blob.Compliance, Period: blobs.RetentionPeriod}
	}
	p, err := r.maintenanceParams(ctx)
	if err != nil {
		return out, err
	}
	out.Extends, out.LeastExtended = p.ExtendObjectLocks, leastExtended(p)
	return out, nil
}

func (r *Repository) mutable(ctx context.Context) (format.MutableParameters, format.BlobStorageConfiguration, error) {
	mp, err := r.rep.FormatManager().GetMutableParameters(ctx)
	if err != nil {
		return mp, format.BlobStorageConfiguration{}, fmt.Errorf("%w: read the repository's parameters: %w", ErrStorage, err)
	}
	blobs, err := r.rep.FormatManager().BlobCfgBlob(ctx)
	if err != nil {
		return mp, blobs, fmt.Errorf("%w: read the repository's blob retention: %w", ErrStorage, err)
	}
	return mp, blobs, nil
}

// Change is what SetParameters may change; zero means leave alone, also for a nil Retention.
type Change struct {
	Epoch     Epoch
	Retention *BlobRetention
}

// SetParameters changes what differs and reports whether anything did. This connection does not notice: open the
// repository again to work with the new parameters, and to read back what is stored now (C-10).
//
// An old format without epochs is left alone; bringing it up to date locks out every older client, which is nobody's to
// decide in passing.
func (r *Repository) SetParameters(ctx context.Context, c Change) (bool, error) {
	before, beforeBlobs, err := r.mutable(ctx)
	if err != nil {
		return false, err
	}
	mp, blobs := c.applied(before, beforeBlobs)
	if mp == before && blobs == beforeBlobs {
		return false, nil
	}
	if err := r.checkParameters(ctx, mp, blobs); err != nil {
		return false, err
	}
	features, err := r.rep.FormatManager().RequiredFeatures(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: read the repository's features: %w", ErrStorage, err)
	}
	// The retention goes out first, with the first blob that it locks: a store that cannot lock refuses that one, and the
	// repository is as it was.
	if err := r.rep.FormatManager().SetParameters(ctx, mp, blobs, features); err != nil {
		return false, fmt.Errorf("%w: store the repository's parameters: %w", ErrStorage, err)
	}
	return true, nil
}

// Differs reports that the repository has not got what a change asks for.
func (r *Repository) Differs(ctx context.Context, c Change) (bool, error) {
	before, beforeBlobs, err := r.mutable(ctx)
	if err != nil {
		return false, err
	}
	mp, blobs := c.applied(before, beforeBlobs)
	if mp != before || blobs != beforeBlobs {
		return true, nil
	}
	p, err := r.maintenanceParams(ctx)
	return err == nil && c.extends(blobs, p) != p.ExtendObjectLocks, err
}

// applied is what a repository with these parameters has after the change.
func (c Change) applied(mp format.MutableParameters, blobs format.BlobStorageConfiguration) (format.MutableParameters, format.BlobStorageConfiguration) {
	if e := &mp.EpochParameters; e.Enabled {
		set(&e.MinEpochDuration, c.Epoch.MinDuration)
		set(&e.EpochRefreshFrequency, c.Epoch.RefreshFrequency)
		set(&e.EpochAdvanceOnCountThreshold, c.Epoch.AdvanceOnCount)
		set(&e.EpochAdvanceOnTotalSizeBytesThreshold, c.Epoch.AdvanceOnBytes)
		set(&e.FullCheckpointFrequency, c.Epoch.CheckpointFrequency)
		set(&e.DeleteParallelism, c.Epoch.DeleteParallelism)
		// Kopia refuses less than three refreshes: a client might still read what is removed.
		e.CleanupSafetyMargin = max(e.CleanupSafetyMargin, 3*e.EpochRefreshFrequency)
	}
	if c.Retention != nil {
		blobs = format.BlobStorageConfiguration{}
		if c.Retention.Period != 0 {
			blobs.RetentionMode, blobs.RetentionPeriod = blob.Governance, c.Retention.Period
		}
		if c.Retention.Compliance {
			blobs.RetentionMode = blob.Compliance
		}
	}
	return mp, blobs
}

func (r *Repository) checkParameters(ctx context.Context, mp format.MutableParameters, blobs format.BlobStorageConfiguration) error {
	if err := mp.Validate(); err != nil {
		return fmt.Errorf("%w: repository parameters: %w", ErrInvalidOption, err)
	}
	if err := blobs.Validate(); err != nil {
		return fmt.Errorf("%w: blob retention: %w", ErrInvalidOption, err)
	}
	if !blobs.IsRetentionEnabled() {
		return nil
	}
	if kind := r.rep.BlobReader().ConnectionInfo().Type; !locksObjects[kind] {
		return fmt.Errorf("%w: blob retention: a %s repository cannot lock blobs, only an object store can", ErrInvalidOption, kind)
	}
	p, err := r.maintenanceParams(ctx)
	if err != nil {
		return err
	}
	if err := maintenance.CheckExtendRetention(ctx, blobs, p); err != nil {
		return fmt.Errorf("%w: blob retention: %w", ErrInvalidOption, err)
	}
	return nil
}

// locksObjects are the kinds of storage for which kopia knows object lock.
var locksObjects = map[string]bool{"s3": true, "azureBlob": true, "gcs": true}

func set[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}
