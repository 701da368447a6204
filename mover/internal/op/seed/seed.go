// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seed fills a repository that does not exist yet from another one: as its copy, or with its snapshots. A
// repository that exists is left as it is, whatever it holds, unless an earlier attempt of the same seed has begun it.
package seed

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
	"github.com/kopiur/kopiur/mover/internal/op/migrate"
)

// run is one seed.
type run struct {
	env  op.Env
	spec work.Spec
	// to is the new repository, from the one it is filled from.
	to, from engine.Connection
	res      *work.SeedResult
}

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.SeedResult, err error) {
	defer func() { err = op.Cause(ctx, op.Cause(env.Soft, err)) }()
	s := spec.Operation.Seed
	switch {
	case (s.Blob == nil) == (s.Migrate == nil):
		return nil, fmt.Errorf("%w: a seed is either a copy of blobs or one of snapshots", backend.ErrInvalidSpec)
	case spec.Repository.ExpectedUniqueID != "":
		return nil, fmt.Errorf("%w: the repository is known already; only one that was never seen is seeded", backend.ErrInvalidSpec)
	}
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	r := &run{env: env, spec: spec, res: &work.SeedResult{}}
	if err := r.connections(); err != nil {
		return nil, err
	}
	place, err := engine.LookForSeed(env.Soft, r.to.Storage)
	if err != nil {
		return nil, engine.AtDestination(err)
	}
	if place.Initialized && !place.Begun {
		r.res.AlreadyInitialized, r.res.UniqueID = true, place.UniqueID
		return r.res, r.count(env.Soft)
	}
	source, err := engine.Open(env.Soft, r.from)
	if err == nil {
		defer func() { err = env.Close(ctx, source, err) }()
	}
	empty, err := r.empty(source, err)
	switch {
	case err != nil:
		return r.res, engine.AtSource(err)
	case empty && s.AllowEmptySource && !place.Begun:
		r.res.LeftEmpty = true
		return r.res, nil
	case empty:
		return r.res, engine.AtSource(&classify.Coded{Code: work.CodeSourceEmpty, Message: "there is nothing to seed from; " +
			"nothing was created; correct the location, or allow an empty source"})
	}
	if s.Blob != nil {
		err = r.blobs(env.Soft, source)
	} else {
		err = r.snapshots(ctx, source)
	}
	if err != nil {
		return r.res, err
	}
	return r.res, r.count(env.Soft)
}

// connections reads what both sides need before either is asked.
func (r *run) connections() error {
	s := r.spec.Operation.Seed
	share := r.spec.Repository
	share.Cache.CapacityBytes /= migrate.Sides
	to, err := r.env.At(op.Destination)
	if err != nil {
		return err
	}
	if r.to, err = to.Connection(share, op.ReadWrite); err != nil {
		return engine.AtDestination(err)
	}
	from, err := r.env.At(op.Source)
	if err != nil {
		return err
	}
	repository := share
	if s.Blob != nil {
		// The copy is the same repository, so it has the same password.
		repository.Backend, repository.Throttle = s.Blob.Source, s.Blob.Throttle
		from.Dirs.Password = to.Dirs.Password
		from.ReadsOnce = true
	} else {
		repository = s.Migrate.Source
		repository.Cache.CapacityBytes /= migrate.Sides
	}
	if r.from, err = from.Connection(repository, op.ReadOnly); err != nil {
		return engine.AtSource(err)
	}
	return nil
}

// empty reports that a source holds no complete snapshot: it has no repository, or one without any.
func (r *run) empty(source *engine.Repository, err error) (bool, error) {
	switch {
	case errors.Is(err, engine.ErrNotInitialized):
		return true, nil
	case err != nil:
		repository := r.spec.Repository
		if m := r.spec.Operation.Seed.Migrate; m != nil {
			repository = m.Source
		}
		return false, op.Explain(r.env.Soft, err, repository, r.from)
	}
	st, err := source.Stats(r.env.Soft)
	if err != nil {
		return false, err //nolint:wrapcheck // says what and where
	}
	// A manifest that cannot be decoded is a snapshot all the same.
	return len(st.Complete)+len(st.Unreadable) == 0, nil
}

// blobs copies the repository.
func (r *run) blobs(ctx context.Context, source *engine.Repository) error {
	s := r.spec.Operation.Seed.Blob
	if s.Parallel < 0 {
		return fmt.Errorf("%w: parallel is negative", backend.ErrInvalidSpec)
	}
	parallel := work.DefaultParallelBlobs
	if s.Parallel > 0 {
		parallel = s.Parallel
	}
	out, err := source.Mirror(ctx, engine.Mirror{
		Destination: r.to.Storage, Throttle: r.to.Throttle, Parallel: parallel, MaxInFlight: r.env.InFlight,
		MustBegin: true, Progress: r.env.Progress, Log: r.env.Log,
	})
	r.res.Resumed, r.res.BlobsCopied, r.res.BytesCopied = out.Resumed, out.Copied.Blobs, out.Copied.Bytes
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if advice := op.CopyLockAdvice(out); advice != "" {
		r.env.Warn(advice)
	}
	r.res.UniqueID = source.UniqueID()
	return nil
}

// snapshots creates the repository and copies every snapshot into it.
func (r *run) snapshots(ctx context.Context, source *engine.Repository) error {
	s := r.spec.Operation.Seed.Migrate
	policies, err := migrate.Policies(s.Policies)
	if err != nil {
		return err //nolint:wrapcheck // says what is wrong
	}
	if err := backend.GoodPassword(r.spec.Repository.PasswordKey, r.to.Password); err != nil {
		return engine.AtDestination(err)
	}
	r.res.Resumed, err = engine.BeginSeed(r.env.Soft, r.to, source.UniqueID(), op.CreateOptions(s.Create))
	if err != nil {
		return engine.AtDestination(err)
	}
	to, err := engine.Open(r.env.Soft, r.to)
	if err != nil {
		return engine.AtDestination(op.Explain(r.env.Soft, err, r.spec.Repository, r.to))
	}
	err = r.fill(ctx, source, to, s, policies)
	if err := r.env.Close(ctx, to, err); err != nil {
		return err
	}
	return engine.AtDestination(engine.EndSeed(r.env.Soft, r.to.Storage))
}

func (r *run) fill(ctx context.Context, source, to *engine.Repository, s *work.SeedMigrate, policies engine.CopyPolicies) error {
	r.res.UniqueID = to.UniqueID()
	if err := to.Furnish(r.env.Soft); err != nil {
		return engine.AtDestination(err)
	}
	out, err := source.MigrateTo(ctx, to, engine.Migration{
		Select:     func(engine.Identity) bool { return true },
		LatestOnly: s.LatestOnly, Parallel: s.Parallel, Files: r.env.Parallel, Policies: policies,
		Progress: r.env.Progress, Log: r.env.Log, Soft: r.env.Soft,
	})
	r.res.SnapshotsCopied, r.res.BytesCopied, r.res.SnapshotCount = out.Copied, out.Bytes, out.Copied+out.Present
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	// The mark stays where a snapshot is missing: the seed has not ended.
	return migrate.Unread(out)
}

// count opens the repository and counts its snapshots: that it opens is the proof.
func (r *run) count(ctx context.Context) (err error) {
	c := r.to
	c.ReadOnly = true
	rep, err := engine.Open(ctx, c)
	if err != nil {
		return engine.AtDestination(op.Explain(ctx, err, r.spec.Repository, c))
	}
	defer func() { err = r.env.Close(ctx, rep, err) }()
	r.res.UniqueID = rep.UniqueID()
	st, err := rep.Stats(ctx)
	if err != nil {
		return engine.AtDestination(err)
	}
	r.res.SnapshotCount = int64(len(st.Complete))
	return nil
}
