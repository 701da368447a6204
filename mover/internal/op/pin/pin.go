// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pin makes kopia keep one snapshot, or lets it go again. It answers with the id the snapshot has now.
package pin

import (
	"context"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.PinResult, err error) {
	defer func() { err = op.Cause(env.Soft, err) }()
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	s := spec.Operation.Pin
	key, err := op.Key(s.Snapshot)
	if err != nil {
		return nil, err
	}
	r, err := env.Open(env.Soft, spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	out, err := r.SetPin(ctx, key, s.Pinned)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what and where
	}
	return &work.PinResult{
		SnapshotID: out.Snapshot.ID, StartTime: op.Whole(out.Snapshot.Start), Pinned: s.Pinned, Changed: out.Changed, OtherPins: out.Others,
	}, nil
}
