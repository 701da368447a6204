// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/compression"
	"github.com/kopia/kopia/repo/ecc"
	"github.com/kopia/kopia/repo/encryption"
	"github.com/kopia/kopia/repo/format"
	"github.com/kopia/kopia/repo/hashing"
	"github.com/kopia/kopia/repo/splitter"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
)

// What a new repository is made of where the user chose nothing: the fastest of the safe hashes, and a splitter that
// still finds equal data after an insertion.
const (
	DefaultHash        = "BLAKE3-256-128"
	DefaultSplitter    = "DYNAMIC-4M-BUZHASH"
	DefaultCompression = "zstd-fastest"
)

// CreateOptions are fixed for the life of a repository. Empty means the default above, or kopia's.
type CreateOptions struct {
	Hash               string
	Splitter           string
	Encryption         string
	ECC                string
	ECCOverheadPercent int
}

// Create makes a repository, and only where nothing is: kopia's own Initialize would write into a folder or bucket that
// holds other things. Somebody else may create it between the question and the answer; that is no error.
func Create(ctx context.Context, c Connection, o CreateOptions) error {
	if c.ExpectedUniqueID != "" {
		// A known repository is never created again, whatever the storage looks like today (K-8).
		return fmt.Errorf("%w: refusing to create a new one in its place", ErrVanished)
	}
	if err := o.check(); err != nil {
		return err
	}
	loc, err := c.Storage.probe(ctx, false)
	if err != nil {
		return err
	}
	if err := c.missing(loc); !errors.Is(err, ErrNotInitialized) {
		return err
	}
	return c.initialize(ctx, o, loc)
}

// initialize makes a repository in a place that was looked at.
func (c Connection) initialize(ctx context.Context, o CreateOptions, loc location) error {
	st, err := c.Storage.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close(context.WithoutCancel(ctx))
	c.Storage.prepare()
	if loc.begun {
		if err := undo(ctx, st); err != nil {
			return fmt.Errorf("remove what a create that was killed left in the %s: %w", c.Storage, err)
		}
	}
	err = repo.Initialize(ctx, st, &repo.NewRepositoryOptions{
		BlockFormat: format.ContentFormat{
			Hash: or(o.Hash, DefaultHash), Encryption: o.Encryption, ECC: o.ECC, ECCOverheadPercent: o.ECCOverheadPercent,
			EnablePasswordChange: true,
		},
		ObjectFormat: format.ObjectFormat{Splitter: or(o.Splitter, DefaultSplitter)},
	}, c.Password)
	if err != nil && !errors.Is(err, repo.ErrAlreadyInitialized) {
		return fmt.Errorf("create the repository in the %s: %w: %w", c.Storage, ErrStorage, err)
	}
	return nil
}

// undo removes the blob that kopia writes before the repository, and without one takes for damage. There is no other
// blob, so nothing was ever stored.
func undo(ctx context.Context, st blob.Storage) error {
	_, err := st.GetMetadata(ctx, format.KopiaRepositoryBlobID)
	switch {
	case err == nil:
		return nil // somebody else was quicker
	case !errors.Is(err, blob.ErrBlobNotFound):
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	if err := st.DeleteBlob(ctx, format.KopiaBlobCfgBlobID); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// check refuses what kopia does not know. Initialize would write it down all the same, and nobody could ever open the
// repository.
func (o CreateOptions) check() error {
	for _, c := range []struct {
		what, name string
		known      []string
	}{
		{"hash", o.Hash, hashing.SupportedAlgorithms()},
		{"splitter", o.Splitter, splitter.SupportedAlgorithms()},
		{"encryption", o.Encryption, encryption.SupportedAlgorithms(false)},
		{"ecc algorithm", o.ECC, ecc.SupportedAlgorithms()},
	} {
		if c.name != "" && !slices.Contains(c.known, c.name) {
			return fmt.Errorf("%w: kopia knows no %s %q; it knows %s", ErrInvalidOption, c.what, c.name, strings.Join(c.known, ", "))
		}
	}
	if o.ECCOverheadPercent < 0 || o.ECCOverheadPercent > 100 {
		return fmt.Errorf("%w: an ecc overhead of %d percent", ErrInvalidOption, o.ECCOverheadPercent)
	}
	return nil
}

// Furnish gives a repository what Initialize leaves out and the CLI adds: a global policy and a maintenance owner. It is
// idempotent, and runs after every bootstrap that may create, so that a mover killed in between is healed by the next.
func (r *Repository) Furnish(ctx context.Context) error {
	_, err := policy.GetDefinedPolicy(ctx, r.rep, policy.GlobalPolicySourceInfo)
	hasPolicy := err == nil
	if err != nil && !errors.Is(err, policy.ErrPolicyNotFound) {
		return fmt.Errorf("%w: read the global policy: %w", ErrStorage, err)
	}
	if !hasPolicy {
		// A repository that is in use without a global policy lives by kopia's defaults; that is not ours to change.
		ids, err := snapshot.ListSnapshotManifests(ctx, r.rep, nil, nil)
		if err != nil {
			return fmt.Errorf("%w: list snapshots: %w", ErrStorage, err)
		}
		hasPolicy = len(ids) > 0
	}
	if !hasPolicy {
		err := r.write(ctx, "furnish", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
			if err := policy.SetPolicy(ctx, w, policy.GlobalPolicySourceInfo, globalPolicy()); err != nil {
				return fmt.Errorf("store the global policy: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err = r.Own(ctx, OwnerRule{})
	return err
}

// globalPolicy keeps everything: retention is the controller's work, and kopia's default would prune what a Snapshot
// object still names.
func globalPolicy() *policy.Policy {
	return &policy.Policy{
		RetentionPolicy:   keepAll(),
		CompressionPolicy: policy.CompressionPolicy{CompressorName: compression.Name(DefaultCompression)},
	}
}

// write runs one write session: it flushes on success and on success only.
func (r *Repository) write(ctx context.Context, purpose string, onUpload func(int64), f func(context.Context, repo.RepositoryWriter) error) error {
	err := repo.WriteSession(ctx, r.rep, repo.WriteSessionOptions{Purpose: purpose, OnUpload: onUpload}, f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSource), errors.Is(err, ErrStorage), errors.Is(err, ErrInterrupted):
		return fmt.Errorf("%s: %w", purpose, err)
	default:
		return fmt.Errorf("%s: %w: %w", purpose, ErrStorage, err) // what is left is the flush
	}
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
