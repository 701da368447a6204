// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap connects to a repository for the first time, or again to see whether it is well. It creates one only
// where that is allowed, none was ever known here, and the location is proven to hold nothing.
package bootstrap

import (
	"context"
	"errors"
	"fmt"

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
	var want engine.Change
	if s.Parameters != nil {
		if want, err = change(*s.Parameters); err != nil {
			return nil, err
		}
	}
	c, err := env.Connection(spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	r, created, err := connect(ctx, spec, c)
	if err != nil {
		return nil, op.Explain(ctx, err, spec.Repository, c)
	}
	defer func() {
		if r != nil {
			err = env.Close(ctx, r, err)
		}
	}()
	res := &work.BootstrapResult{UniqueID: r.UniqueID(), Created: created, ConnectSeconds: r.ConnectTime.Seconds()}
	if s.Parameters != nil && !c.ReadOnly {
		if r, err = apply(ctx, env, c, r, want); err != nil {
			return res, err
		}
	}
	if err := arrange(ctx, r, c, *s, res); err != nil {
		return res, err
	}
	return res, describe(ctx, env, c, r, *s, res)
}

// connect opens the repository, and creates it where nothing is and that is wanted.
func connect(ctx context.Context, spec work.Spec, c engine.Connection) (_ *engine.Repository, created bool, err error) {
	create := spec.Operation.Bootstrap.Create
	r, err := engine.Open(ctx, c)
	if !errors.Is(err, engine.ErrNotInitialized) || create == nil || c.ReadOnly || c.ExpectedUniqueID != "" {
		return r, false, err //nolint:wrapcheck // says what and where
	}
	if err := backend.GoodPassword(spec.Repository.PasswordKey, c.Password); err != nil {
		return nil, false, err //nolint:wrapcheck // a sentence for the user already
	}
	if err := engine.Create(ctx, c, op.CreateOptions(*create)); err != nil {
		return nil, false, err //nolint:wrapcheck // says what and where
	}
	r, err = engine.Open(ctx, c)
	return r, true, err //nolint:wrapcheck // says what and where
}

// apply changes parameters. The connection is made anew then, because the old one goes on with what it had; what the new
// one reads is what the store has (C-10). It returns nil where no connection is left.
func apply(ctx context.Context, env op.Env, c engine.Connection, r *engine.Repository, want engine.Change) (*engine.Repository, error) {
	changed, err := r.SetParameters(ctx, want)
	if err != nil {
		return r, err //nolint:wrapcheck // says what and where
	}
	if changed {
		env.Log("info", "Changed the parameters of the repository")
		if err := env.Close(ctx, r, nil); err != nil {
			return nil, err
		}
		r, err = engine.Open(ctx, c)
		if err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
	}
	if err := r.ExtendLocks(ctx, want); err != nil {
		return r, err //nolint:wrapcheck // says what and where
	}
	changed, err = r.Differs(ctx, want)
	if err == nil && changed {
		err = fmt.Errorf("%w: the repository's parameters were stored and read back as something else", engine.ErrStorage)
	}
	return r, err //nolint:wrapcheck // says what and where
}

// arrange leaves the repository as Kopiur wants it.
func arrange(ctx context.Context, r *engine.Repository, c engine.Connection, s work.Bootstrap, res *work.BootstrapResult) error {
	var rule engine.OwnerRule
	if s.Owner != nil {
		rule = engine.OwnerRule{Aliases: s.Owner.Aliases, Anyone: s.Owner.Anyone}
	}
	if !c.ReadOnly {
		if err := r.Furnish(ctx); err != nil {
			return err //nolint:wrapcheck // says what and where
		}
		keep := make([]engine.Identity, len(s.Keep))
		for i, id := range s.Keep {
			if keep[i] = op.Identity(id); id.Username == "" || id.Hostname == "" || id.Path == "" {
				return fmt.Errorf("%w: keep snapshots of %s: an identity needs a username, a hostname and a path", backend.ErrInvalidSpec, keep[i])
			}
		}
		if err := r.KeepAll(ctx, keep); err != nil {
			return err //nolint:wrapcheck // says what and where
		}
	}
	owner, err := r.Own(ctx, rule)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	res.Owner, res.PreviousOwner = owner.Owner, owner.Previous
	return nil
}

// describe says how the repository is.
func describe(ctx context.Context, env op.Env, c engine.Connection, r *engine.Repository, s work.Bootstrap, res *work.BootstrapResult) error {
	p, err := r.Parameters(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	res.Parameters = state(p)
	if s.Parameters != nil && s.Parameters.Epoch != nil && !p.Epoch.Enabled {
		env.Warn("the repository has an old format without epochs; parameters.epoch has no effect until kopia upgrades it")
	}
	if advice := op.LockAdvice(p, 0); advice != "" {
		env.Warn(advice)
	}
	if clock, ok := c.ReadClock(ctx); ok {
		res.Clock = &work.Clock{Mover: op.Whole(clock.Mover), Store: op.Whole(clock.Store)}
		if clock.Excessive() {
			env.Warn(clock.Difference() + "; kopia runs no maintenance until they agree")
		}
	}
	st, err := r.Stats(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	res.SnapshotCount, res.Unreadable, res.TotalBytes = int64(len(st.Complete)), int64(len(st.Unreadable)), st.TotalBytes
	res.IndexBlobCount, res.IndexBlobBytes = st.IndexBlobCount, st.IndexBlobBytes
	if len(st.Unreadable) > 0 {
		env.Warn(fmt.Sprintf("the manifests of %d snapshots cannot be decoded, %s is the first", len(st.Unreadable), st.Unreadable[0]))
	}
	if s.Catalog == nil {
		return nil
	}
	res.Catalog, err = catalog(env.Page, st.Complete, s.Catalog.After)
	return err
}
