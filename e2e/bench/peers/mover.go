// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Mover is the mover, driven by work specs.
type Mover struct {
	Path string
	// WorkDir is a folder in memory, as a mover pod has one; empty takes one on the disk.
	WorkDir string
	Settings
}

// Settings are equal for the mover and the kopia CLI.
type Settings struct {
	Hash, Splitter, Encryption, Compression string
	// Parallel is how many files are read at a time.
	Parallel int
	// CacheMiB bounds the cache of contents and that of metadata.
	CacheMiB int
}

// Name is the mover's.
func (m *Mover) Name() string { return NameMover }

// Identity is whom every snapshot of the benchmarks belongs to.
var Identity = work.Identity{Username: "bench", Hostname: "bench", Path: "/data"}

// Create makes a repository by a bootstrap.
func (m *Mover) Create(ctx context.Context, v *Vault) error {
	if v.Bucket == nil {
		if err := os.MkdirAll(v.Dir, 0o750); err != nil {
			return fmt.Errorf("make a store: %w", err)
		}
	}
	if err := m.Connect(ctx, v); err != nil {
		return err
	}
	return Do(ctx, m.Run(v, work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}, nil))
}

// Connect makes the folders that a pod would have.
func (m *Mover) Connect(_ context.Context, v *Vault) error {
	err := v.home("password", "auth", "ca", "cache", "work", "source/password", "source/auth", "destination/password", "destination/auth")
	write := func(name, content string) {
		if err == nil {
			err = os.WriteFile(filepath.Join(v.Home, name), []byte(content), 0o600)
		}
	}
	for _, side := range []string{"", "source", "destination"} {
		write(filepath.Join(side, "password", work.DefaultPasswordKey), password)
		if b := v.Bucket; b != nil {
			write(filepath.Join(side, "auth", work.KeyAWSAccessKeyID), b.AccessKey)
			write(filepath.Join(side, "auth", work.KeyAWSSecretAccessKey), b.SecretKey)
		}
	}
	return err //nolint:wrapcheck // names the path
}

// Backup is the work of one Snapshot.
func (m *Mover) Backup(v *Vault, source string) measure.Command {
	o := work.Operation{Snapshot: &work.Snapshot{
		Identity: Identity, Path: source, Policy: work.SnapshotPolicy{MaxParallelFileReads: m.Parallel},
	}}
	return m.Run(v, o, func(r work.Result) error {
		v.Snapshot = r.Snapshot.SnapshotID
		return v.stored(r.Snapshot.FileCount, r.Snapshot.SizeBytes)
	})
}

// Restore is the work of one Restore.
func (m *Mover) Restore(v *Vault, target string) measure.Command {
	return m.Run(v, work.Operation{Restore: &work.Restore{SnapshotID: v.Snapshot, TargetPath: target}}, nil)
}

// Backend is a place in the words of a work spec.
func (p Place) Backend() work.Backend {
	if b := p.Bucket; b != nil {
		return work.Backend{S3: &work.S3{Bucket: b.Name, Endpoint: b.Endpoint, Region: Region, DisableTLS: true}}
	}
	return work.Backend{Filesystem: &work.Filesystem{Path: p.Dir}}
}

var errRefused = errors.New("the mover answered")

// Run is one operation. The check gets a result whose code is OK.
func (m *Mover) Run(v *Vault, o work.Operation, check func(work.Result) error) measure.Command {
	// No request id: a mover that finds what an earlier attempt stored has nothing to do.
	spec, err := work.EncodeSpec(work.Spec{Operation: o, Repository: work.Repository{
		Name: "Repository bench/bench", Backend: v.Backend(),
		PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-bench",
		Cache: work.Cache{ContentLimitBytes: int64(m.CacheMiB) << 20, MetadataLimitBytes: int64(m.CacheMiB) << 20},
	}})
	at := func(name string) string { return filepath.Join(v.Home, name) }
	termination, workDir := at("termination-log"), m.WorkDir
	if workDir == "" {
		workDir = at("work")
	}
	return measure.Command{
		Path: m.Path, Dir: v.Home,
		Args: []string{
			"run", "--password-dir", at("password"), "--auth-dir", at("auth"), "--ca-dir", at("ca"), "--source-dir", at("source"),
			"--destination-dir", at("destination"), "--cache-dir", at("cache"), "--work-dir", workDir, "--termination-log", termination,
		},
		Env: []string{work.EnvSpec + "=" + spec},
		Check: func([]byte) error {
			if err != nil {
				return fmt.Errorf("write the work spec: %w", err)
			}
			r, err := Result(v)
			switch {
			case err != nil:
				return err
			case r.Code != work.CodeOK:
				return fmt.Errorf("%w %s: %s", errRefused, r.Code, r.Message)
			case check != nil:
				return check(r)
			}
			return nil
		},
	}
}

// Result is what the last mover of a vault answered.
func Result(v *Vault) (work.Result, error) {
	text, err := os.ReadFile(filepath.Join(v.Home, "termination-log"))
	if err != nil {
		return work.Result{}, fmt.Errorf("read the result: %w", err)
	}
	r, err := work.DecodeResult(string(text))
	if err != nil {
		return work.Result{}, fmt.Errorf("read the result: %w", err)
	}
	return r, nil
}
