// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
)

// mirrorLocks are the locks of a copy (D-11). Kopia puts them on what it writes through a repository; a copy writes below
// one, and a copy that anybody may delete is no second line.
type mirrorLocks struct {
	blob.ExtendOptions

	prefixes []blob.ID
	// extends: the source's own locks are prolonged.
	extends    bool
	impossible atomic.Bool
	// count of locked blobs, and of those whose lock the store refused to prolong.
	count, refused atomic.Int64
}

// plan finds out what the source asks for. A refusal to lock is understood of S3 only; elsewhere it would be taken for a
// store that fails, so nothing is asked there.
func (w *mirror) plan(ctx context.Context) error {
	p, err := w.repo.Parameters(ctx)
	if err != nil {
		return err
	}
	if p.Retention.Period == 0 {
		return nil
	}
	if w.Destination.S3 == nil {
		w.locks.impossible.Store(true)
		return nil
	}
	w.locks.RetentionMode, w.locks.RetentionPeriod = blob.Governance, p.Retention.Period
	if p.Retention.Compliance {
		w.locks.RetentionMode = blob.Compliance
	}
	w.locks.prefixes, w.locks.extends = repo.GetLockingStoragePrefixes(), p.Extends
	return nil
}

// wanted reports whether a blob is one of those that kopia locks.
func (l *mirrorLocks) wanted(id blob.ID) bool {
	if l.RetentionPeriod == 0 || l.impossible.Load() {
		return false
	}
	for _, p := range l.prefixes {
		if strings.HasPrefix(string(id), string(p)) {
			return true
		}
	}
	return false
}

func (l *mirrorLocks) options(id blob.ID) blob.PutOptions {
	if !l.wanted(id) {
		return blob.PutOptions{}
	}
	return blob.PutOptions{RetentionMode: l.RetentionMode, RetentionPeriod: l.RetentionPeriod}
}

// prolong locks anew what was there before this run, as the source's full maintenance does with every blob of its own.
// Nobody else does it for a copy.
func (w *mirror) prolong(ctx context.Context, src, dst blobList) error {
	if !w.locks.extends {
		return nil
	}
	l := newLocking(ctx, w.dst, w.locks.ExtendOptions, w.Parallel)
	for id := range src {
		if _, before := dst[id]; before && w.locks.wanted(id) {
			l.lock(id)
		}
	}
	err := l.wait()
	w.locks.count.Add(l.locked.Load())
	w.locks.refused.Add(l.refused.Load())
	if cannotLock(err) {
		w.locks.impossible.Store(true)
		return nil
	}
	return err
}
