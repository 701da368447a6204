// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicate copies a repository to another place, blob by blob. The copy is the same repository: it opens with
// the same password.
package replicate

import (
	"context"
	"fmt"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Run is the operation.
func Run(_ context.Context, env op.Env, spec work.Spec) (_ *work.ReplicateResult, err error) {
	ctx := env.Soft // there is nothing to save: every blob that was copied stays
	defer func() { err = op.Cause(ctx, err) }()
	s := spec.Operation.Replicate
	if s.Parallel < 0 {
		return nil, fmt.Errorf("%w: parallel is negative", backend.ErrInvalidSpec)
	}
	// Both places before either is asked: a missing key of the second Secret needs no connection to the first.
	to, err := env.StorageAt(op.Destination, s.Destination)
	if err != nil {
		return nil, err
	}
	env.ReadsOnce = true
	r, err := env.OpenAt(ctx, op.Source, spec.Repository, op.ReadOnly, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	out, err := r.Mirror(ctx, engine.Mirror{
		Destination: to, Throttle: op.Throttle(s.Throttle), Parallel: Parallel(s.Parallel), MaxInFlight: env.InFlight,
		DeleteExtra: s.DeleteExtra, MustExist: s.MustExist, Times: s.Times, KeepOlder: !op.Or(s.Update, true),
		Progress: env.Progress, Log: env.Log,
	})
	res := &work.ReplicateResult{
		UniqueID: r.UniqueID(), Fresh: out.Fresh, BlobsTotal: out.Total.Blobs, BytesTotal: out.Total.Bytes,
		BlobsCopied: out.Copied.Blobs, BytesCopied: out.Copied.Bytes, BlobsDeleted: out.Deleted.Blobs, BytesDeleted: out.Deleted.Bytes,
		BlobsExtra: out.Extra,
	}
	if err != nil {
		return res, err //nolint:wrapcheck // says what and where
	}
	if advice := op.CopyLockAdvice(out); advice != "" {
		env.Warn(advice)
	}
	if out.Lost > 0 {
		return res, &classify.Coded{Code: work.CodeVerificationFailed, Message: fmt.Sprintf(
			"the source has lost %d blobs that its indexes name; the destination still holds them, and nothing was deleted there; "+
				"verify the source, and copy them back", out.Lost)}
	}
	return res, nil
}

// Parallel is how many blobs are copied at a time. It is not bound to the number of processors: copying waits for the
// stores.
func Parallel(asked int) int {
	if asked <= 0 {
		return work.DefaultParallelBlobs
	}
	return asked
}
