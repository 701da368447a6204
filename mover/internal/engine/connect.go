// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/repo"
)

const (
	// closeTimeout bounds the end of a connection whose own context is over.
	closeTimeout = 30 * time.Second
	configName   = "connection.json"
)

// Connection is all it takes to open a repository.
type Connection struct {
	Storage  Storage
	Password string
	// Username and Hostname are the client's identity: the maintenance owner, so never the pod's name (K-6).
	Username string
	Hostname string
	// ExpectedUniqueID, in hex, makes another repository in the same place an error.
	ExpectedUniqueID string
	ReadOnly         bool
	Cache            Cache
	Throttle         Throttle
	// WorkDir holds the connection file, which has the storage's keys in clear: memory-backed, and ours alone.
	WorkDir string
	Clock   Clock
}

// Clock tells the time; the engine never asks the system itself.
type Clock func() time.Time

// Repository is an open connection.
type Repository struct {
	rep     repo.DirectRepository
	storage Storage
	config  string
	leave   func() // what was only for this connection
	fatal   atomic.Pointer[error]
	clock   Clock
	// ConnectTime is how long probe and open took.
	ConnectTime time.Duration
}

// Open connects to a repository that must exist. It first asks the storage what it holds, because kopia's own open
// repeats every failure for minutes and then only reports that its context ended.
func Open(ctx context.Context, c Connection) (*Repository, error) {
	start := c.Clock()
	loc, err := c.Storage.probe(ctx, c.ReadOnly)
	if err != nil {
		return nil, c.vanishedIfPinned(err)
	}
	if err := c.missing(loc); err != nil {
		return nil, err
	}
	r, err := c.openWithCache(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrSlow, err) // it answered the probe
		}
		return nil, fmt.Errorf("open the repository in the %s: %w", c.Storage, err)
	}
	r.ConnectTime = c.Clock().Sub(start)
	if c.ExpectedUniqueID != "" && r.UniqueID() != c.ExpectedUniqueID {
		got := r.UniqueID()
		_ = r.Close(ctx) // the mismatch is the news
		return nil, fmt.Errorf("%w: unique id %s is expected, the %s has %s", ErrVanished, c.ExpectedUniqueID, c.Storage, got)
	}
	return r, nil
}

// missing is the error for a location without a repository, nil where there is one.
func (c Connection) missing(loc location) error {
	switch {
	case loc.initialized:
		return nil
	case c.ExpectedUniqueID != "":
		return fmt.Errorf("%w: the %s holds no repository any more; expected unique id %s", ErrVanished, c.Storage, c.ExpectedUniqueID)
	case loc.copying:
		return fmt.Errorf("%w: a copy into the %s has begun and has not ended", ErrOccupied, c.Storage)
	case loc.found != "":
		return fmt.Errorf("%w: the %s holds %q", ErrOccupied, c.Storage, loc.found)
	default:
		return fmt.Errorf("%w: the %s is empty", ErrNotInitialized, c.Storage)
	}
}

// vanishedIfPinned turns a missing bucket or folder into a vanished repository where one was known.
func (c Connection) vanishedIfPinned(err error) error {
	if c.ExpectedUniqueID != "" && errors.Is(err, ErrLocationMissing) {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	return err
}

func (c Connection) open(ctx context.Context) (*Repository, error) {
	if err := c.Cache.place(c.WorkDir); err != nil {
		return nil, err
	}
	path, err := c.writeConfig()
	if err != nil {
		return nil, err
	}
	r := &Repository{storage: c.Storage, config: path, clock: c.Clock, leave: func() { c.Cache.leave(c.WorkDir) }}
	rep, err := repo.Open(ctx, path, c.Password, &repo.Options{
		DoNotWaitForUpgrade:  true, // an upgrade lock is an answer, not a reason to hang
		DisableRepositoryLog: true, // log blobs in the user's bucket are of no use to anyone here
		TimeNowFunc:          c.Clock,
		OnFatalError:         func(err error) { r.fatal.CompareAndSwap(nil, &err) }, // the default ends the process
	})
	if err != nil {
		_ = os.Remove(path)
		r.leave()
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	direct, ok := rep.(repo.DirectRepository)
	if !ok {
		_ = rep.Close(ctx)
		_ = os.Remove(path)
		r.leave()
		return nil, fmt.Errorf("open repository: unexpected kind %T", rep)
	}
	r.rep = direct
	return r, nil
}

// WriteConfig writes what kopia's own programs need to open the repository: the connection file, and the password beside
// it, where they look for it. The file is in WorkDir, which has to be in memory.
func (c Connection) WriteConfig() (string, error) {
	path, err := c.writeConfig()
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString([]byte(c.Password))
	if err := os.WriteFile(path+".kopia-password", []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write connection file: %w", err)
	}
	return path, nil
}

// writeConfig writes kopia's connection file. repo.Connect would do it, and would delete the cache and the file when
// its first open fails.
func (c Connection) writeConfig() (string, error) {
	ci, err := c.Storage.connectionInfo()
	if err != nil {
		return "", err
	}
	ci = c.Cache.ahead(c.Throttle.wrap(ci))
	lc := repo.LocalConfig{
		Storage: &ci,
		Caching: c.Cache.options(),
		ClientOptions: repo.ClientOptions{
			Username: c.Username, Hostname: c.Hostname, ReadOnly: c.ReadOnly,
			Description: c.Storage.String(),
			// The format blob holds the keys. Kopia would take it from the cache for a quarter of an hour: after a change of
			// the password it would ask for the old one, and in a cache that another repository has used it would write with
			// the other one's keys.
			FormatBlobCacheDuration: -1,
		},
	}
	b, err := json.Marshal(lc)
	if err != nil {
		return "", fmt.Errorf("write connection file: %w", err)
	}
	path := filepath.Join(c.WorkDir, configName)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return "", fmt.Errorf("write connection file: %w", err)
	}
	return path, nil
}

// UniqueID is the repository's id in hex.
func (r *Repository) UniqueID() string { return hex.EncodeToString(r.rep.UniqueID()) }

// Owner is this client as user@host.
func (r *Repository) Owner() string { return r.rep.ClientOptions().UsernameAtHost() }

// Close ends the connection and removes the connection file. It works on a context that is over.
func (r *Repository) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := r.rep.Close(ctx)
	r.leave()
	if rerr := os.Remove(r.config); err == nil && !errors.Is(rerr, os.ErrNotExist) {
		err = rerr
	}
	if f := r.fatal.Load(); f != nil {
		err = errors.Join(*f, err)
	}
	if err != nil {
		return fmt.Errorf("close repository: %w", err)
	}
	return nil
}
