// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delete removes many snapshots over one connection. Each member is looked up before anything is written, and
// what is not exactly the snapshot that was asked for is kept.
package delete //nolint:predeclared // named after the operation

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
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.DeleteResult, err error) {
	defer func() { err = op.Cause(env.Soft, err) }()
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	members, err := spec.Operation.Delete.Keys()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidSpec, err)
	}
	keys := make([]engine.Key, len(members))
	for i, m := range members {
		if keys[i], err = op.Key(m); err != nil {
			return nil, err
		}
	}
	r, err := env.Open(env.Soft, spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	out, err := r.Delete(ctx, env.Soft, keys)
	if err != nil {
		return nil, locked(ctx, r, err)
	}
	res := result(out)
	if res.Refused == 0 {
		return res, nil
	}
	for _, d := range out {
		if d.Err != nil {
			env.Log("error", "Keeping what is not the snapshot that was asked for: "+d.Err.Error())
		}
	}
	return res, &classify.Coded{Code: work.CodeSnapshotMismatch, Message: fmt.Sprintf(
		"%d of %d snapshots were not deleted: what has their id, or their identity and start time, is not certainly the one meant; the log names them",
		res.Refused, len(out))}
}

func result(out []engine.Deletion) *work.DeleteResult {
	res := &work.DeleteResult{}
	letters := make([]byte, len(out))
	for i, d := range out {
		o := work.DeleteRefused
		switch {
		case d.Deleted:
			o = work.DeleteDone
			res.Deleted++
		case d.Gone:
			o = work.DeleteGone
			res.Gone++
		default:
			res.Refused++
		}
		letters[i] = byte(o)
	}
	res.Outcomes = work.DeleteOutcomes(letters)
	return res
}

// locked makes a refusal of the store retryable where it locks blobs: the same credentials have just read the
// repository, and a lock ends by itself (D-11).
func locked(ctx context.Context, r *engine.Repository, err error) error {
	code, _ := classify.Outcome(err)
	if (code != work.CodeAccessDenied && code != work.CodeUnknown) || !r.LocksBlobs(ctx) {
		return err
	}
	return &classify.Coded{
		Code: work.CodeLocked, Err: err,
		Message: "the store refuses to delete blobs that object lock still protects; the deletion is tried again",
	}
}
