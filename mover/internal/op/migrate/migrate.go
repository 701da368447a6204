// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate copies selected snapshots from one repository into another, which may have another password, format
// and storage.
package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Sides is how many connections share the cache's volume.
const Sides = 2

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.MigrateResult, err error) {
	defer func() { err = op.Cause(ctx, op.Cause(env.Soft, err)) }()
	s := spec.Operation.Migrate
	policies, err := Policies(s.Policies)
	if err != nil {
		return nil, err
	}
	from, err := parse(s.Cursor)
	if err != nil {
		return nil, err
	}
	if s.Destination.ReadOnly {
		return nil, op.Destination.Named(fmt.Errorf("%w: the repository is read-only", backend.ErrInvalidSpec))
	}
	source, err := env.OpenAt(env.Soft, op.Source, spec.Repository, op.ReadOnly, Sides)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, source, err) }()
	destination, err := env.OpenAt(env.Soft, op.Destination, s.Destination, op.ReadWrite, Sides)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, destination, err) }()
	out, err := source.MigrateTo(ctx, destination, engine.Migration{
		Select: func(id engine.Identity) bool { return s.Selection.Selects(work.Identity(id)) },
		Keep:   keep(s.Keep), By: spec.RequestID,
		LatestOnly: s.LatestOnly, Parallel: s.Parallel, Files: env.Parallel, Policies: policies,
		Progress: env.Progress, Log: env.Log, Soft: env.Soft,
	})
	res := &work.MigrateResult{
		UniqueID: destination.UniqueID(), IdentitiesSelected: out.Identities, SnapshotsCopied: out.Copied, AlreadyPresent: out.Present,
		Failed: out.Failed, NotKept: out.NotKept, IncompleteSkipped: out.Incomplete, PoliciesCopied: out.Policies, BytesCopied: out.Bytes,
	}
	// What was copied is reported also where the run was ended: it is there.
	if rerr := records(env.Page, res, out.Pairs, s.ReportPresent || s.Cursor != "", from, s.Cursor); rerr != nil && err == nil {
		err = rerr
	}
	if err != nil {
		return res, err
	}
	return res, Unread(out)
}

func keep(k *work.Keep) func([]time.Time) []bool {
	if k == nil {
		return nil
	}
	return k.Of
}

// Unread is the error for snapshots that could not be copied. It is not tried again: the same ones would be missing.
func Unread(out engine.Migrated) error {
	if out.Failed == 0 {
		return nil
	}
	return &classify.Coded{Code: work.CodeVerificationFailed, Message: fmt.Sprintf(
		"%d snapshots cannot be read at the source and were left out; %d were copied and %d were there before; verify the source",
		out.Failed, out.Copied, out.Present)}
}

// Policies maps the protocol's word.
func Policies(p work.MigratePolicies) (engine.CopyPolicies, error) {
	switch p {
	case "", work.MigratePoliciesNone:
		return engine.CopyNoPolicies, nil
	case work.MigratePoliciesCopy:
		return engine.CopyMissingPolicies, nil
	case work.MigratePoliciesOverwrite:
		return engine.CopyAllPolicies, nil
	default:
		return 0, fmt.Errorf("%w: policies %q; it is none, copy or copyOverwrite", backend.ErrInvalidSpec, p)
	}
}
