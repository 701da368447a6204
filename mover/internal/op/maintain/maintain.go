// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintain runs kopia's maintenance once and says what came of it, and what is still to come. Maintenance belongs
// to one client; whose it is, is respected.
package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.MaintainResult, err error) {
	defer func() { err = op.Cause(env.Soft, err) }()
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	s := spec.Operation.Maintain
	if s.Mode != work.MaintenanceQuick && s.Mode != work.MaintenanceFull {
		return nil, fmt.Errorf("%w: there is no maintenance %q", backend.ErrInvalidSpec, s.Mode)
	}
	m := engine.Maintenance{
		Full: s.Mode == work.MaintenanceFull, Parallel: env.Parallel,
		Interval: time.Duration(min(s.FullIntervalSeconds, work.MaxSeconds)) * time.Second,
	}
	if s.Owner != nil {
		m.Own = engine.OwnerRule{Aliases: s.Owner.Aliases, Anyone: s.Owner.Anyone}
	}
	r, err := env.Open(env.Soft, spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	// Kopia leaves a repository whole wherever a maintenance ends.
	out, err := r.Maintain(env.Soft, m)
	if out.Unprolonged > 0 {
		env.Warn(op.Unprolonged(out.Unprolonged))
	}
	if err == nil && m.Full {
		if p, perr := r.Parameters(env.Soft); perr == nil {
			if advice := op.LockAdvice(p, m.Interval); advice != "" {
				env.Warn(advice)
			}
		}
	}
	return result(s.Mode, out), err //nolint:wrapcheck // says what and where
}

func result(mode work.MaintenanceMode, m engine.Maintained) *work.MaintainResult {
	return &work.MaintainResult{
		Mode: mode, Owner: m.Owner.Owner, PreviousOwner: m.Owner.Previous,
		ReclaimedBytes: m.RemovedBytes, ReclaimedBlobs: m.RemovedBlobs, Waiting: waiting(m.Waiting),
		NextQuick: op.Whole(m.NextQuick), NextFull: op.Whole(m.NextFull),
		IndexBlobCount: m.IndexBlobCount, IndexBlobBytes: m.IndexBlobBytes, Epoch: m.Epoch,
	}
}

// waiting explains why space is not there yet. The words stay the same until something happens.
func waiting(w engine.Waiting) *work.Reclaim {
	out := &work.Reclaim{Bytes: w.Bytes, At: op.Whole(w.At)}
	var why string
	switch w.Stage {
	case engine.ReclaimNothing:
		return nil
	case engine.ReclaimYoung:
		out.Reason = work.ReclaimTooYoung
		why = "it is younger than a day, and a backup under way may still need it"
	case engine.ReclaimMarked:
		out.Reason = work.ReclaimSecondCycle
		why = "it is marked as deleted, and a later full maintenance has to confirm that nothing uses it"
	case engine.ReclaimDropped:
		out.Reason = work.ReclaimReaders
		why = "its blobs stay until they are a day old and no reader can still have an index that names them"
	case engine.ReclaimShared:
		out.Reason = work.ReclaimSharedBlobs
		why = "its blobs hold data in use as well, and are rewritten once later backups have made more such blobs"
	}
	out.Message = fmt.Sprintf("%d bytes are not used any more and still stored; most of it is not removed yet because %s", w.Bytes, why)
	if !w.At.IsZero() {
		out.Message += "; that is the full maintenance of " + out.At.Format(time.RFC3339) + " at the earliest"
	}
	return out
}
