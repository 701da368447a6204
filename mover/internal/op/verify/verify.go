// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify proves that snapshots can be restored, by looking up all they consist of or by restoring one. It tells
// damage from a store that does not answer, which proves nothing.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/limits"
	"github.com/kopiur/kopiur/mover/internal/op"
)

const (
	// defaultQueue is kopia's own.
	defaultQueue = 20000
	// maxParallel bounds what a user may ask for by mistake.
	maxParallel = 256
)

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.VerifyResult, err error) {
	defer func() { err = op.Cause(env.Soft, err) }()
	s := *spec.Operation.Verify
	if err := check(s); err != nil {
		return nil, err
	}
	env.FreshCache, env.ReadsOnce = true, true
	r, err := env.Open(env.Soft, spec.Repository, op.ReadOnly)
	if engine.IndexDamaged(err) {
		return nil, &classify.Coded{Code: work.CodeVerificationFailed, Message: "the store answers, and an index of the repository is damaged: " + err.Error()}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	if err := enough(env.Soft, r, s.MinBlobs); err != nil {
		return nil, err
	}
	all, err := snapshots(env.Soft, r, s)
	if err != nil {
		return nil, err
	}
	var walked *work.VerifyResult
	if s.Quick != nil {
		if walked, err = quick(env, r, all, *s.Quick); err != nil || s.Deep == nil {
			return walked, err
		}
	}
	restored, err := deep(env, r, all, s.Snapshot != nil, *s.Deep)
	if walked == nil || restored == nil {
		return restored, err
	}
	// The numbers are those of all that was looked at.
	walked.Tier, walked.Snapshot, walked.Restored = restored.Tier, restored.Snapshot, restored.Restored
	walked.Errors, walked.Faults = restored.Errors, restored.Faults
	return walked, err
}

// enough is about a store that has lost blobs nobody would miss: without an index the snapshots it names do not exist.
func enough(ctx context.Context, r *engine.Repository, least int64) error {
	if least <= 0 {
		return nil
	}
	n, err := r.CountBlobs(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if n < least {
		return &classify.Coded{Code: work.CodeVerificationFailed, Message: fmt.Sprintf(
			"the store holds %d blobs of the repository, and the last copy left at least %d there", n, least)}
	}
	return nil
}

func check(s work.Verify) error {
	if s.Quick == nil && s.Deep == nil {
		return fmt.Errorf("%w: a verification is quick, deep or both", backend.ErrInvalidSpec)
	}
	meant := 0
	for _, set := range []bool{s.Snapshot != nil, len(s.Identities) > 0, s.All} {
		if set {
			meant++
		}
	}
	if meant != 1 {
		return fmt.Errorf("%w: a verification is of a snapshot, of identities or of all", backend.ErrInvalidSpec)
	}
	if s.MinBlobs < 0 {
		return fmt.Errorf("%w: minBlobs is negative", backend.ErrInvalidSpec)
	}
	for _, id := range s.Identities {
		if id.Username == "" || id.Hostname == "" || id.Path == "" {
			return fmt.Errorf("%w: verify %s: an identity needs a username, a hostname and a path", backend.ErrInvalidSpec, op.Identity(id))
		}
	}
	if q := s.Quick; q != nil && (q.FilesPercent < 0 || q.Parallel < 0 || q.FileParallelism < 0 || q.FileQueueLength < 0 || q.MaxErrors < 0) {
		return fmt.Errorf("%w: a number of the verification is negative", backend.ErrInvalidSpec)
	}
	if d := s.Deep; d != nil && (d.ScratchPath == "" || d.FitPercent < 0 || d.FitPercent > 100) {
		return fmt.Errorf("%w: a deep verification needs a scratch folder, and takes at most all of it", backend.ErrInvalidSpec)
	}
	return nil
}

// snapshots are the complete ones that are meant.
func snapshots(ctx context.Context, r *engine.Repository, s work.Verify) ([]engine.Snapshot, error) {
	if s.Snapshot != nil {
		key, err := op.Key(*s.Snapshot)
		if err != nil {
			return nil, err
		}
		one, err := r.Locate(ctx, key)
		if err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
		if !one.Complete() {
			return nil, &classify.Coded{Code: work.CodeNotFound, Message: "the snapshot is incomplete (" + one.Incomplete + "), there is nothing to prove"}
		}
		return []engine.Snapshot{one}, nil
	}
	var all []engine.Snapshot
	if s.All {
		some, err := r.All(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
		all = some
	}
	for _, id := range s.Identities {
		some, err := r.List(ctx, op.Identity(id))
		if err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
		all = append(all, some...)
	}
	all = slices.DeleteFunc(all, func(one engine.Snapshot) bool { return !one.Complete() })
	if len(all) == 0 {
		return nil, &classify.Coded{Code: work.CodeNotFound, Message: "there is no complete snapshot to verify yet"}
	}
	return all, nil
}

func quick(env op.Env, r *engine.Repository, all []engine.Snapshot, q work.QuickVerify) (*work.VerifyResult, error) {
	out, err := r.Verify(env.Soft, all, engine.Verify{
		ReadPercent: q.FilesPercent, Parallel: or(q.Parallel, env.Parallel), FileParallel: or(q.FileParallelism, env.Parallel),
		Queue: queue(q.FileQueueLength), MaxErrors: int64(q.MaxErrors), Progress: env.Progress,
	})
	newest := all[0]
	for _, s := range all[1:] {
		if s.Start.After(newest.Start) {
			newest = s
		}
	}
	res := &work.VerifyResult{
		Tier: work.TierQuick, Snapshot: described(newest), Snapshots: int64(len(all)),
		Files: out.Files, Bytes: out.Bytes, FilesRead: out.FilesRead, BytesRead: out.BytesRead,
		Errors: out.Errors, Faults: op.Faults(out.Faults),
	}
	report(env, out.Faults)
	if err != nil {
		return res, err //nolint:wrapcheck // says what and where
	}
	if out.Errors > 0 {
		return res, &classify.Coded{Code: work.CodeVerificationFailed, Message: fmt.Sprintf(
			"%d files or folders of %d snapshots are damaged; the log names the first of them", out.Errors, len(all))}
	}
	return res, nil
}

func deep(env op.Env, r *engine.Repository, all []engine.Snapshot, named bool, d work.DeepVerify) (*work.VerifyResult, error) {
	if d.FitPercent > 0 {
		var err error
		if all, err = fitting(all, d); err != nil {
			return nil, err
		}
	}
	s, found, partial := engine.NewestWhole(all)
	if len(all) == 1 && named {
		s, found = all[0], true // whoever names one wants that one
	}
	if !found {
		return nil, &classify.Coded{Code: work.CodeNotFound, Message: fmt.Sprintf(
			"there is no snapshot to restore: %d are complete and lack entries that could not be read", partial)}
	}
	out, err := r.VerifyDeep(env.Soft, s, engine.Deep{
		Scratch: d.ScratchPath, Name: work.ScratchData, Parallel: or(d.Parallel, env.Parallel), Keep: d.Keep, Progress: env.Progress,
	})
	res := &work.VerifyResult{
		Tier: work.TierDeep, Snapshot: described(s), Snapshots: 1, Files: s.Files, Bytes: s.Size,
		Errors: out.Errors, Faults: op.Faults(out.Faults),
		Restored: &work.VerifiedRestore{Files: out.Files, Bytes: out.Bytes, ChecksumMatches: out.Matches},
	}
	report(env, out.Faults)
	switch {
	case err != nil:
		return res, err //nolint:wrapcheck // says what and where
	case out.Errors > 0:
		return res, &classify.Coded{Code: work.CodeVerificationFailed, Message: fmt.Sprintf(
			"the restore of the snapshot of %s failed its verification: %d faults; the log names the first of them", op.Whole(s.Start).Format(timeFormat), out.Errors)}
	case !out.Matches:
		return res, &classify.Coded{Code: work.CodeVerificationFailed, Message: "the number of files on the scratch volume is not the number of files restored"}
	}
	return res, nil
}

// fitting are the snapshots that take no more than their share of what is free in the scratch volume: it may be a folder of
// the node, and a node whose disk is full throws pods out.
func fitting(all []engine.Snapshot, d work.DeepVerify) ([]engine.Snapshot, error) {
	size, free := limits.Volume(d.ScratchPath)
	if size == 0 {
		return all, nil // it does not say, and what does not fit is found out
	}
	return within(all, free/100*d.FitPercent)
}

func within(all []engine.Snapshot, room int64) ([]engine.Snapshot, error) {
	out := slices.DeleteFunc(slices.Clone(all), func(s engine.Snapshot) bool { return s.Size > room })
	if len(out) == 0 {
		return nil, &classify.Coded{Code: work.CodeScratchNotWritable, Message: fmt.Sprintf(
			"the scratch volume has room for %d bytes, and every snapshot is larger: raise moverDefaults.scratch.capacity of the repository", room)}
	}
	return out, nil
}

const timeFormat = "2006-01-02T15:04:05Z07:00"

func described(s engine.Snapshot) *work.VerifiedSnapshot {
	return &work.VerifiedSnapshot{
		SnapshotID: s.ID, Identity: work.Identity{Username: s.Identity.Username, Hostname: s.Identity.Hostname, Path: s.Identity.Path},
		StartTime: op.Whole(s.Start), EndTime: op.Whole(s.End),
	}
}

// report puts faults into the log, where they are whole: a result may have to leave some out.
func report(env op.Env, faults []engine.Fault) {
	for _, f := range faults {
		if !errors.Is(f.Cause, context.Canceled) {
			env.Log("error", fmt.Sprintf("Damage at %s: %s", f.Path, f.Reason))
		}
	}
}

func queue(n int) int {
	if n == 0 {
		return defaultQueue
	}
	return min(n, 10*defaultQueue)
}

func or(n, def int) int {
	if n <= 0 {
		return max(def, 1)
	}
	return min(n, maxParallel)
}
