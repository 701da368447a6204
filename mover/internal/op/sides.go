// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Side is one of two repositories.
type Side string

// The two sides of a copy.
const (
	Source      Side = "source"
	Destination Side = "destination"
)

// Named puts the side's name into an error.
func (s Side) Named(err error) error {
	if s == Source {
		return engine.AtSource(err)
	}
	return engine.AtDestination(err)
}

// DirsBelow are the folders of one side's Secrets.
func DirsBelow(root string) backend.Dirs {
	return backend.Dirs{
		Password: filepath.Join(root, work.SecretsPassword),
		Auth:     filepath.Join(root, work.SecretsAuth),
		CA:       filepath.Join(root, work.SecretsCA),
	}
}

// At is the environment of one side: Secrets, connection file and cache of its own. Two connections in one folder would
// overwrite each other's file and take each other's cache for their own.
func (e Env) At(s Side) (Env, error) {
	e.Dirs = e.Source
	if s == Destination {
		e.Dirs = e.Destination
	}
	e.WorkDir = filepath.Join(e.WorkDir, string(s))
	if err := os.MkdirAll(e.WorkDir, 0o700); err != nil {
		return e, fmt.Errorf("prepare a folder for the connection: %w", err)
	}
	if e.CacheDir == "" {
		return e, nil
	}
	e.CacheDir = filepath.Join(e.CacheDir, string(s))
	if err := os.MkdirAll(e.CacheDir, 0o700); err != nil {
		e.Log("warn", "Going on without a cache: "+err.Error())
		e.CacheDir = ""
	}
	return e, nil
}

// OpenAt connects to the repository of one side, which must exist. Share is how many connections use the cache's volume.
func (e Env) OpenAt(ctx context.Context, s Side, r work.Repository, m Mode, share int64) (*engine.Repository, error) {
	e, err := e.At(s)
	if err != nil {
		return nil, err
	}
	r.Cache.CapacityBytes /= share
	e.CacheBytes /= share
	rep, err := e.Open(ctx, r, m)
	return rep, s.Named(err)
}

// StorageAt is the place of one side, below any repository.
func (e Env) StorageAt(s Side, b work.Backend) (engine.Storage, error) {
	e, err := e.At(s)
	if err != nil {
		return engine.Storage{}, err
	}
	st, secrets, err := backend.Storage(b, e.Dirs)
	e.Secret(secrets...)
	return st, s.Named(err)
}

// Throttle maps the protocol's to the engine's.
func Throttle(t *work.Throttle) engine.Throttle { return backend.Throttle(t) }
