// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package op holds what all operations of the mover share. Each operation is a package below it with one Run function:
// typed work in, typed result out, and an error where it did not do all it was asked for. A result and an error may come
// together: a snapshot that lacks entries was stored all the same.
package op

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Op is one unit of work. It knows the repository and the disk, not the cluster.
type Op[R any] func(ctx context.Context, env Env, spec work.Spec) (*R, error)

// Env is what the process gives an operation.
type Env struct {
	// Dirs is where Secrets are mounted. An operation with two repositories finds those of each in Source and
	// Destination instead, see At.
	Dirs, Source, Destination backend.Dirs
	// CacheDir may be empty; CacheBytes is the size of its file system.
	CacheDir   string
	CacheBytes int64
	WorkDir    string
	// ReadsOnce is set by an operation that reads each piece of content once.
	ReadsOnce bool
	// FreshCache is set by an operation that wants to hear from the store, not from what an earlier mover has kept of it.
	FreshCache bool
	// Soft ends before the context of the call, and tells an operation to save what it has.
	Soft context.Context //nolint:containedctx // a second, softer deadline of the same call
	// Parallel is how many files the machine's limits allow at a time, InFlight how many bytes of whole blobs; 0 is no
	// limit.
	Parallel int
	InFlight int64
	Progress *engine.Counters
	Clock    engine.Clock
	// StreamSocket is where the helper of a stream comes to, BrowseSocket where questions of a session do.
	StreamSocket, BrowseSocket string
	// Secret is told every value that must not leave the mover, before it is used.
	Secret func(values ...string)
	// Redact takes those values out of a text that leaves by another way than Log and the result.
	Redact func(text string) string
	Log    func(level, message string)
	// Warn adds a sentence to the result about what went on all the same and should be put right.
	Warn func(sentence string)
	// Page writes a part of a long answer; false means that this mover has said all it may.
	Page func(work.Page) bool
}

// Mode says whether an operation writes.
type Mode bool

// Modes of a connection.
const (
	ReadWrite Mode = false
	ReadOnly  Mode = true
)

// Connection is the one way from a spec to a connection, for every operation (C-13).
func (e Env) Connection(r work.Repository, m Mode) (engine.Connection, error) {
	c, secrets, err := backend.Connection(r, e.Dirs)
	e.Secret(secrets...)
	if err != nil {
		return c, err //nolint:wrapcheck // a sentence for the user already
	}
	c.ReadOnly = c.ReadOnly || bool(m)
	c.Cache = backend.Cache(r.Cache, e.CacheDir, e.CacheBytes)
	c.Cache.Advise = e.Warn
	c.Cache.Once = e.ReadsOnce
	if e.ReadsOnce && c.Storage.Filesystem != nil {
		// The repository is as near as a cache.
		c.Cache = engine.Cache{}
	}
	if e.FreshCache && c.Cache.Dir != "" {
		c.Cache.Dir = filepath.Join(c.Cache.Dir, freshCache)
		if err := renew(c.Cache.Dir); err != nil {
			c.Cache = engine.Cache{}
		}
	}
	c.WorkDir, c.Clock = e.WorkDir, e.Clock
	return c, nil
}

// freshCache is the part of a cache volume that is emptied before it is used.
const freshCache = "fresh"

func renew(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err //nolint:wrapcheck // the caller does without
	}
	return os.Mkdir(dir, 0o700) //nolint:wrapcheck // the caller does without
}

// Open connects to a repository that must exist.
func (e Env) Open(ctx context.Context, r work.Repository, m Mode) (*engine.Repository, error) {
	c, err := e.Connection(r, m)
	if err != nil {
		return nil, err
	}
	rep, err := engine.Open(ctx, c)
	return rep, Explain(ctx, err, r, c)
}

// Explain adds to the error of an open what may be behind it: white space at the end of a password (K-9), the clock.
// Nothing is cut off a password silently: a repository may have been created with it.
func Explain(ctx context.Context, err error, r work.Repository, c engine.Connection) error {
	if err == nil {
		return nil
	}
	switch code, _ := classify.Outcome(err); code {
	case work.CodeAuthFailure:
		space := backend.TrailingSpace(c.Password)
		if space == "" {
			return err
		}
		key := r.PasswordKey
		if key == "" {
			key = work.DefaultPasswordKey
		}
		return &classify.Coded{
			Code: code, Err: err,
			Message: fmt.Sprintf("the repository password is wrong; key %s ends in %s, which may be why", key, space),
		}
	case work.CodeClockSkew:
		if clock, ok := c.ReadClock(ctx); ok {
			return &classify.Coded{Code: code, Err: err, Message: "the store refuses requests: " + clock.String()}
		}
	case work.CodeAccessDenied:
		// Signatures and tokens are good for minutes; few stores say that it is the clock.
		if clock, ok := c.ReadClock(ctx); ok && clock.Excessive() {
			return &classify.Coded{Code: work.CodeClockSkew, Err: err, Message: "the store refuses the credentials, and they are good for minutes only: " + clock.String()}
		}
	default:
	}
	return err
}

// Close closes a repository after an operation that went well: an error then is the operation's own. After a failure it
// is only logged.
func (e Env) Close(ctx context.Context, r *engine.Repository, err error) error {
	cerr := r.Close(ctx)
	switch {
	case cerr == nil:
		return err
	case err == nil:
		return fmt.Errorf("%w: %w", engine.ErrStorage, cerr)
	default:
		e.Log("warn", "Closing the repository failed: "+cerr.Error())
		return err
	}
}

// Cause puts the reason for the end of a context into an error, so that a signal is told from a deadline.
func Cause(ctx context.Context, err error) error {
	if err == nil || ctx == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

// Identity maps the protocol's to the engine's.
func Identity(i work.Identity) engine.Identity {
	return engine.Identity{Username: i.Username, Hostname: i.Hostname, Path: i.Path}
}

// Key maps the protocol's to the engine's. Without an identity nothing would tell the snapshot from another one.
func Key(k work.SnapshotKey) (engine.Key, error) {
	i := k.Identity
	if i.Username == "" || i.Hostname == "" || i.Path == "" {
		return engine.Key{}, fmt.Errorf("%w: snapshot %s has no identity", backend.ErrInvalidSpec, k.SnapshotID)
	}
	if k.SnapshotID == "" && k.StartTime.IsZero() {
		return engine.Key{}, fmt.Errorf("%w: a snapshot of %s has neither id nor start time", backend.ErrInvalidSpec, Identity(i))
	}
	return engine.Key{ID: k.SnapshotID, Identity: Identity(i), Start: k.StartTime}, nil
}

// Writable refuses an operation that writes on a repository that is read-only.
func Writable(spec work.Spec) error {
	if spec.Repository.ReadOnly {
		return fmt.Errorf("%w: the repository is read-only", backend.ErrInvalidSpec)
	}
	return nil
}

// Faults maps the engine's to the protocol's.
func Faults(in []engine.Fault) []work.EntryFault {
	var out []work.EntryFault
	for _, f := range in {
		w := work.EntryFault{Path: f.Path, UID: f.UID, Reason: f.Reason}
		if f.Mode != 0 {
			w.Mode = f.Mode.String()
		}
		out = append(out, w)
	}
	return out
}

// Whole cuts a time to the second, as Kubernetes keeps it.
func Whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// Or is the value of a tri-state option.
func Or(b *bool, def bool) bool {
	if b == nil {
		return def
	}
	return *b
}

// CreateOptions maps the parameters of a new repository.
func CreateOptions(c work.Create) engine.CreateOptions {
	return engine.CreateOptions{
		Hash: c.Hash, Splitter: c.Splitter, Encryption: c.Encryption,
		ECC: c.ECCAlgorithm, ECCOverheadPercent: c.ECCOverheadPercent,
	}
}
