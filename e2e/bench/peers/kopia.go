// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Kopia is kopia's own command line, of the module version that the mover links.
type Kopia struct {
	Path string
	Settings
}

// Name is the peer's.
func (k *Kopia) Name() string { return NameKopia }

// Create makes a repository with the settings of the mover's.
func (k *Kopia) Create(ctx context.Context, v *Vault) error {
	if v.Bucket == nil {
		if err := os.MkdirAll(v.Dir, 0o750); err != nil {
			return fmt.Errorf("make a store: %w", err)
		}
	}
	args := append(k.at(v, "create"), "--block-hash", k.Hash, "--object-splitter", k.Splitter, "--encryption", k.Encryption)
	if err := k.do(ctx, v, args...); err != nil {
		return err
	}
	return k.do(ctx, v, "policy", "set", "--global", "--compression", k.Compression)
}

// Connect makes a configuration with an empty cache.
func (k *Kopia) Connect(ctx context.Context, v *Vault) error {
	return k.do(ctx, v, k.at(v, "connect")...)
}

func (k *Kopia) at(v *Vault, verb string) []string {
	args := []string{"repository", verb}
	if b := v.Bucket; b != nil {
		args = append(args, "s3", "--bucket", b.Name, "--endpoint", b.Endpoint, "--region", Region, "--disable-tls",
			"--access-key", b.AccessKey, "--secret-access-key", b.SecretKey)
	} else {
		args = append(args, "filesystem", "--path", v.Dir)
	}
	size := strconv.Itoa(k.CacheMiB)
	return append(args, "--override-username", "kopiur", "--override-hostname", "kopiur-bench",
		"--content-cache-size-mb", size, "--content-cache-size-limit-mb", size,
		"--metadata-cache-size-mb", size, "--metadata-cache-size-limit-mb", size)
}

func (k *Kopia) do(ctx context.Context, v *Vault, args ...string) error {
	if err := v.home("cache", "logs"); err != nil {
		return err
	}
	return Do(ctx, k.Command(v, args...))
}

// Command is any command on a store. Kopia's maintenance after a backup and its log files are off: the mover has neither.
func (k *Kopia) Command(v *Vault, args ...string) measure.Command {
	at := func(name string) string { return filepath.Join(v.Home, name) }
	return measure.Command{
		Path: k.Path, Args: append([]string{"--no-auto-maintenance", "--disable-file-logging", "--disable-content-log", "--no-progress"}, args...), Dir: v.Home,
		Env: []string{
			"HOME=" + v.Home, "KOPIA_PASSWORD=" + password, "KOPIA_CONFIG_PATH=" + at("repository.config"),
			"KOPIA_CACHE_DIRECTORY=" + at("cache"), "KOPIA_LOG_DIR=" + at("logs"), "KOPIA_CHECK_FOR_UPDATES=false", "KOPIA_USE_KEYRING=false",
		},
	}
}

// Backup is `kopia snapshot create`.
func (k *Kopia) Backup(v *Vault, source string) measure.Command {
	c := k.Command(v, "snapshot", "create", "--json", "--parallel", strconv.Itoa(k.Parallel), source)
	c.Check = func(output []byte) error {
		var m struct {
			ID        string
			RootEntry struct {
				Summ struct{ Size, Files, NumFailed int64 }
			}
		}
		if err := json.Unmarshal(output, &m); err != nil {
			return fmt.Errorf("read kopia's manifest: %w", err)
		}
		v.Snapshot = m.ID
		return v.stored(m.RootEntry.Summ.Files, m.RootEntry.Summ.Size)
	}
	return c
}

// Restore is `kopia snapshot restore` as it comes: eight files at a time.
func (k *Kopia) Restore(v *Vault, target string) measure.Command {
	return k.Command(v, "snapshot", "restore", v.Snapshot, target)
}

// Sync is `kopia repository sync-to s3`.
func (k *Kopia) Sync(from, to *Vault, parallel string) measure.Command {
	b := to.Bucket
	return k.Command(from, "repository", "sync-to", "s3", "--parallel", parallel, "--bucket", b.Name, "--endpoint", b.Endpoint, "--region", Region,
		"--disable-tls", "--access-key", b.AccessKey, "--secret-access-key", b.SecretKey)
}

// Discover finds what a repository of the mover's is made of, so that kopia's is made the same.
func Discover(ctx context.Context, m *Mover, k *Kopia, scratch string) (Settings, error) {
	v := &Vault{Place: Place{Dir: filepath.Join(scratch, "repository")}, Home: filepath.Join(scratch, "mover")}
	s := m.Settings
	if err := m.Create(ctx, v); err != nil {
		return s, err
	}
	v.Home = filepath.Join(scratch, "kopia")
	if err := k.Connect(ctx, v); err != nil {
		return s, err
	}
	var status struct {
		ContentFormat struct{ Hash, Encryption string }
		ObjectFormat  struct{ Splitter string }
	}
	var global struct {
		Compression struct{ CompressorName string }
	}
	for verb, into := range map[string]any{"repository status": &status, "policy show --global": &global} {
		c := k.Command(v, append(split(verb), "--json")...)
		out, err := do(ctx, c)
		if err != nil {
			return s, err
		}
		if err := json.Unmarshal(out, into); err != nil {
			return s, fmt.Errorf("%s: read the answer: %w", c, err)
		}
	}
	s.Hash, s.Encryption = status.ContentFormat.Hash, status.ContentFormat.Encryption
	s.Splitter, s.Compression = status.ObjectFormat.Splitter, global.Compression.CompressorName
	return s, nil
}
