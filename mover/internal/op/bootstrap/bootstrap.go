// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap connects to a repository for the first time, or again to see whether it is well. It creates one only
// where that is allowed, none was ever known here, and the location is proven to hold nothing.
package bootstrap

import (
	"context"
	"errors"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Run is the operation.
func Run(_ context.Context, env op.Env, spec work.Spec) (_ *work.BootstrapResult, err error) {
	defer func() { err = op.Cause(env.Soft, err) }()
	ctx := env.Soft // a bootstrap has nothing to save
	s := spec.Operation.Bootstrap
	c, err := env.Connection(spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	created := false
	r, err := engine.Open(ctx, c)
	if errors.Is(err, engine.ErrNotInitialized) && s.Create != nil && !c.ReadOnly && c.ExpectedUniqueID == "" {
		if space := backend.TrailingSpace(c.Password); space != "" {
			return nil, backend.PasswordKeyError(spec.Repository.PasswordKey, "ends in "+space+"; a repository is not created with it, "+
				"because nobody would think of it when typing the password years later")
		}
		if err := engine.Create(ctx, c, createOptions(*s.Create)); err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
		created = true
		r, err = engine.Open(ctx, c)
	}
	if err != nil {
		return nil, op.Explain(err, spec.Repository, c)
	}
	defer func() { err = env.Close(ctx, r, err) }()
	if !c.ReadOnly {
		if err := r.Furnish(ctx); err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
	}
	st, err := r.Stats(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what and where
	}
	return &work.BootstrapResult{
		UniqueID: r.UniqueID(), Created: created, ConnectSeconds: r.ConnectTime.Seconds(),
		SnapshotCount: st.Snapshots, TotalBytes: st.TotalBytes,
		IndexBlobCount: st.IndexBlobCount, IndexBlobBytes: st.IndexBlobBytes,
	}, nil
}

func createOptions(c work.Create) engine.CreateOptions {
	return engine.CreateOptions{
		Hash: c.Hash, Splitter: c.Splitter, Encryption: c.Encryption,
		ECC: c.ECCAlgorithm, ECCOverheadPercent: c.ECCOverheadPercent,
	}
}
