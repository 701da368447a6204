// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
	"github.com/kopia/kopia/repo/maintenance"
	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// lockMargin is what kopia wants between two full maintenances and the end of a lock.
const lockMargin = 24 * time.Hour

// locksPerFile is how many blobs are locked at a time for each file that may be worked on at a time: it costs no memory.
const locksPerFile = 4

// leastExtended is the shortest period whose locks are prolonged before they end.
func leastExtended(p *maintenance.Params) time.Duration { return p.FullCycle.Interval + lockMargin }

// extends says whether full maintenance is to prolong locks after the change: wherever blobs are locked for long enough.
// Where the change says nothing of locks it stays as it is.
func (c Change) extends(blobs format.BlobStorageConfiguration, p *maintenance.Params) bool {
	switch {
	case c.Retention == nil:
		return p.ExtendObjectLocks
	case !blobs.IsRetentionEnabled():
		return false
	default:
		return p.ExtendObjectLocks || blobs.RetentionPeriod >= leastExtended(p)
	}
}

// ExtendLocks lets full maintenance prolong locks, or stops that, as the change asks for. Kopia does not by itself: a
// period after it was written a blob that backups still need would be as open as one that is garbage (D-11). It follows
// SetParameters, on a connection made since: what it writes is locked itself then.
func (r *Repository) ExtendLocks(ctx context.Context, c Change) error {
	_, blobs, err := r.mutable(ctx)
	if err != nil {
		return err
	}
	p, err := r.maintenanceParams(ctx)
	if err != nil {
		return err
	}
	extend := c.extends(blobs, p)
	if extend == p.ExtendObjectLocks {
		return nil
	}
	return r.write(ctx, "extend locks", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		with := *p
		with.ExtendObjectLocks = extend
		if err := maintenance.SetParams(ctx, w, &with); err != nil {
			return fmt.Errorf("store maintenance parameters: %w", err)
		}
		return nil
	})
}

func (r *Repository) maintenanceParams(ctx context.Context) (*maintenance.Params, error) {
	p, err := maintenance.GetParams(ctx, r.rep)
	if err != nil {
		return nil, fmt.Errorf("%w: read maintenance parameters: %w", ErrStorage, err)
	}
	return p, nil
}

// prolong locks anew every blob that kopia locks. Kopia's own way to do it fails a whole maintenance with the first blob
// whose lock ends later already, from when the period was longer.
func (r *Repository) prolong(ctx context.Context, w repo.DirectRepositoryWriter, parallel int) (refused int64, err error) {
	blobs, err := w.FormatManager().BlobCfgBlob(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the repository's blob retention: %w", err)
	}
	if !blobs.IsRetentionEnabled() {
		return 0, nil
	}
	l := newLocking(ctx, w.BlobStorage(), blob.ExtendOptions{RetentionMode: blobs.RetentionMode, RetentionPeriod: blobs.RetentionPeriod}, parallel)
	err = blob.IterateAllPrefixesInParallel(ctx, max(parallel, 1), w.BlobStorage(), repo.GetLockingStoragePrefixes(), func(b blob.Metadata) error {
		l.lock(b.BlobID)
		return l.ctx.Err()
	})
	if lerr := l.wait(); lerr != nil {
		err = lerr
	}
	if err != nil {
		return 0, fmt.Errorf("prolong object lock: %w", err)
	}
	return l.refused.Load(), nil
}

// locking locks many blobs, some at a time.
type locking struct {
	ctx   context.Context //nolint:containedctx // of the group
	outer context.Context //nolint:containedctx // of the call
	group *errgroup.Group
	st    blob.Storage
	how   blob.ExtendOptions
	// locked blobs have a lock of the whole period now; refused ones the store would not lock.
	locked, refused atomic.Int64
}

func newLocking(ctx context.Context, st blob.Storage, how blob.ExtendOptions, parallel int) *locking {
	l := &locking{outer: ctx, st: st, how: how}
	l.group, l.ctx = errgroup.WithContext(ctx)
	l.group.SetLimit(max(parallel, 1))
	return l
}

// lock waits for its turn.
func (l *locking) lock(id blob.ID) {
	if l.ctx.Err() != nil {
		return
	}
	l.group.Go(func() error {
		err := l.st.ExtendBlobRetention(l.ctx, id, l.how)
		switch {
		case err == nil:
			l.locked.Add(1)
		case isDeleted(err):
		case mayNotLock(err):
			l.refused.Add(1)
		default:
			return fmt.Errorf("%w: lock blob %s: %w", ErrStorage, id, err)
		}
		return nil
	})
}

func (l *locking) wait() error {
	if err := l.group.Wait(); err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	return context.Cause(l.outer)
}

// cannotLock reports the answer of a bucket that was made without object lock.
func cannotLock(err error) bool {
	var answer minio.ErrorResponse
	return errors.Is(err, blob.ErrUnsupportedPutBlobOption) || errors.As(err, &answer) && answer.Code == "InvalidRequest"
}

// mayNotLock reports a refusal: the right to prolong locks is missing, or a lock ends later already.
func mayNotLock(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.Code == minio.AccessDenied
}

// isDeleted reports a blob that somebody deleted meanwhile.
func isDeleted(err error) bool {
	var answer minio.ErrorResponse
	return errors.Is(err, blob.ErrBlobNotFound) || errors.As(err, &answer) && answer.Code == minio.NoSuchKey
}

// LocksBlobs reports that blobs of the repository are locked for a time after they are written (D-11).
func (r *Repository) LocksBlobs(ctx context.Context) bool {
	c, err := r.rep.FormatManager().BlobCfgBlob(ctx)
	return err == nil && c.IsRetentionEnabled()
}
