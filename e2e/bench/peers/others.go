// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Restic is Debian's restic with its defaults.
type Restic struct{ Path string }

// Name is the peer's.
func (r *Restic) Name() string { return NameRestic }

// Create makes a repository.
func (r *Restic) Create(ctx context.Context, v *Vault) error {
	if err := v.home("cache"); err != nil {
		return err
	}
	return Do(ctx, r.command(v, "init"))
}

// Connect makes an empty cache.
func (r *Restic) Connect(context.Context, *Vault) error { return nil }

func (r *Restic) command(v *Vault, args ...string) measure.Command {
	c := measure.Command{Path: r.Path, Dir: v.Home, Args: args, Env: []string{
		"HOME=" + v.Home, "RESTIC_PASSWORD=" + password, "RESTIC_CACHE_DIR=" + filepath.Join(v.Home, "cache"),
		"RESTIC_REPOSITORY=" + v.Dir,
		// With --json it would print its status sixty times a second.
		"RESTIC_PROGRESS_FPS=0.1",
	}}
	if b := v.Bucket; b != nil {
		c.Env = append(c.Env, "RESTIC_REPOSITORY=s3:http://"+b.Endpoint+"/"+b.Name, "AWS_ACCESS_KEY_ID="+b.AccessKey,
			"AWS_SECRET_ACCESS_KEY="+b.SecretKey, "AWS_DEFAULT_REGION="+Region)
	}
	return c
}

// Backup is `restic backup .` in the source: its entries are then the snapshot's.
func (r *Restic) Backup(v *Vault, source string) measure.Command {
	c := r.command(v, "backup", "--json", ".")
	c.Dir = source
	c.Check = func(output []byte) error {
		var last struct {
			MessageType string `json:"message_type"`
			Files       int64  `json:"total_files_processed"`
			Bytes       int64  `json:"total_bytes_processed"`
			ID          string `json:"snapshot_id"`
		}
		for line := range bytes.Lines(output) {
			if bytes.Contains(line, []byte(`"summary"`)) {
				if err := json.Unmarshal(line, &last); err != nil {
					return fmt.Errorf("read restic's summary: %w", err)
				}
			}
		}
		v.Snapshot = last.ID
		return v.stored(last.Files, last.Bytes)
	}
	return c
}

// Restore is `restic restore`.
func (r *Restic) Restore(v *Vault, target string) measure.Command {
	return r.command(v, "restore", v.Snapshot, "--target", target)
}

// Tar is what people do without a backup program.
type Tar struct{}

// Name is the peer's.
func (Tar) Name() string { return NameTar }

// Create makes a folder for the archive.
func (Tar) Create(_ context.Context, v *Vault) error { return folder(v) }

// Connect has nothing to do.
func (Tar) Connect(context.Context, *Vault) error { return nil }

func (v *Vault) archive() string { return filepath.Join(v.Dir, "archive.tar.zst") }

func pipe(script string) measure.Command {
	return measure.Command{Path: "/bin/bash", Args: []string{"-o", "pipefail", "-c", script}}
}

// Backup makes an archive.
func (Tar) Backup(v *Vault, source string) measure.Command {
	c := pipe(fmt.Sprintf("tar -C %s -cf - . | zstd -q -f -1 -o %s", source, v.archive()))
	c.Check = func([]byte) error {
		st, err := os.Stat(v.archive())
		if err != nil {
			return fmt.Errorf("look at the archive: %w", err)
		}
		if st.Size() < v.Want.Bytes/1000 {
			return fmt.Errorf("%w: the archive has %d bytes", errNothing, st.Size())
		}
		return nil
	}
	return c
}

// Restore unpacks it.
func (Tar) Restore(v *Vault, target string) measure.Command {
	return pipe(fmt.Sprintf("zstd -qdc %s | tar -C %s -xpf -", v.archive(), target))
}

// Copy is cp -a: what the disk gives.
type Copy struct{}

// Name is the peer's.
func (Copy) Name() string { return NameCopy }

// Create makes a folder for the copy.
func (Copy) Create(_ context.Context, v *Vault) error { return folder(v) }

// Connect has nothing to do.
func (Copy) Connect(context.Context, *Vault) error { return nil }

// Backup copies.
func (Copy) Backup(v *Vault, source string) measure.Command {
	return measure.Command{Path: "/bin/cp", Args: []string{"-a", source + "/.", v.Dir}, Check: func([]byte) error {
		entries, err := os.ReadDir(v.Dir)
		if err == nil && len(entries) == 0 {
			err = errNothing
		}
		return err //nolint:wrapcheck // names the path
	}}
}

// Restore copies back.
func (Copy) Restore(v *Vault, target string) measure.Command {
	return measure.Command{Path: "/bin/cp", Args: []string{"-a", v.Dir + "/.", target}}
}

func folder(v *Vault) error {
	if err := os.MkdirAll(v.Dir, 0o750); err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	return nil
}

func split(s string) []string { return strings.Fields(s) }
