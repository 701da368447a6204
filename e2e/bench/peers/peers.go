// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peers knows how each program under comparison is told to back up and restore: the mover by its work spec, as
// the controller does it, the others by their command lines. All of them get the same source, an empty store of their
// own and a home of their own for caches and settings.
package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Names of the peers, as the tables show them.
const (
	NameMover  = "mover"
	NameKopia  = "kopia CLI"
	NameRestic = "restic"
	NameTar    = "tar | zstd -1"
	NameCopy   = "cp -a"
)

// Peer is one program.
type Peer interface {
	Name() string
	// Create makes an empty store, and the home that goes with it.
	Create(ctx context.Context, v *Vault) error
	// Connect makes a new home for a store that exists: nothing is cached in it.
	Connect(ctx context.Context, v *Vault) error
	// Backup and Restore are what is timed. The check of a backup sets the vault's Snapshot.
	Backup(v *Vault, source string) measure.Command
	Restore(v *Vault, target string) measure.Command
}

// Vault is one store as one program sees it.
type Vault struct {
	Place
	// Home is where the program keeps its cache and settings.
	Home string
	// Want is what the source holds: a backup that stored anything else has failed.
	Want data.Tree
	// Snapshot is what the last backup is called.
	Snapshot string
}

// Place is a folder, or a bucket.
type Place struct {
	Dir    string
	Bucket *Bucket
}

// Bucket is a bucket of an S3 server without TLS.
type Bucket struct {
	Endpoint, Name, AccessKey, SecretKey string
}

// Region is that of every bucket.
const Region = "us-east-1"

// password is that of every store. Nobody keeps anything in them.
const password = "benchmarks have no secrets"

// errNothing is a backup that did less than it was asked to: its time would be worth nothing.
var errNothing = errors.New("the backup does not hold what the source does")

func (v *Vault) stored(files, size int64) error {
	if v.Want.Bytes == 0 || files != int64(v.Want.Files) || size != v.Want.Bytes {
		return fmt.Errorf("%w: it has %d files of %d bytes, the source %d of %d", errNothing, files, size, v.Want.Files, v.Want.Bytes)
	}
	return nil
}

func (v *Vault) home(names ...string) error {
	for _, n := range names {
		if err := os.MkdirAll(filepath.Join(v.Home, n), 0o750); err != nil {
			return fmt.Errorf("make a home: %w", err)
		}
	}
	return nil
}

// do runs a command that is not measured, and returns its standard output.
func do(ctx context.Context, c measure.Command) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err == nil && c.Check != nil {
		err = c.Check(out.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", c, err, strings.TrimSpace(errs.String()+out.String()))
	}
	return out.Bytes(), nil
}

// Output runs a command of a peer without measuring it, and returns its standard output.
func Output(ctx context.Context, c measure.Command) ([]byte, error) { return do(ctx, c) }

// Do runs a command of a peer without measuring it.
func Do(ctx context.Context, c measure.Command) error {
	_, err := do(ctx, c)
	return err
}
