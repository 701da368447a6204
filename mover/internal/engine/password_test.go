// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const newPassword = "another horse"

func TestChangePassword(t *testing.T) {
	t.Parallel()
	s3, _ := s3Server(t, false, nil)
	for name, s := range map[string]Storage{"folder": folder(t), "s3": {S3: &s3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			src := t.TempDir()
			writeFile(t, filepath.Join(src, "a"), "content", 0o644)
			c, r := created(t, s)
			if s.S3 != nil {
				_, err := r.SetParameters(ctx, Change{Retention: &BlobRetention{Period: 48 * time.Hour}})
				require.NoError(t, err)
			}
			up, err := r.Upload(ctx, uploadOf(src))
			require.NoError(t, err)
			// A mover with a cache that has seen the old one.
			c.Cache = Cache{Dir: t.TempDir()}
			with(t, c, func(*Repository) {})

			require.NoError(t, ChangePassword(ctx, connectionFor(t, c), newPassword))
			old := c
			old.WorkDir = t.TempDir()
			_, err = Open(ctx, old)
			require.ErrorIs(t, err, ErrWrongPassword)
			c.Password = newPassword
			with(t, c, func(r *Repository) {
				assert.Equal(t, []string{"a"}, stored(t, r, up.Snapshot))
				assert.Equal(t, s.S3 != nil, r.LocksBlobs(ctx), "the rest is as it was")
			})
			require.NoError(t, ChangePassword(ctx, connectionFor(t, old), newPassword), "the retry of one whose answer was lost")
			require.NoError(t, ChangePassword(ctx, connectionFor(t, c), newPassword), "to the one it has")
		})
	}
}

// connectionFor is a connection of its own to the same repository.
func connectionFor(t *testing.T, c Connection) Connection {
	t.Helper()
	c.WorkDir = t.TempDir()
	return c
}

func TestChangePasswordRefuses(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, _ := created(t, folder(t))
	before := tree(t, c.Storage.Filesystem.Path)
	for name, tc := range map[string]struct {
		change func(*Connection)
		to     string
		want   error
	}{
		"an empty one":                  {func(*Connection) {}, "", ErrInvalidOption},
		"one that ends in a newline":    {func(*Connection) {}, "horse\n", ErrInvalidOption},
		"without the old one":           {func(c *Connection) { c.Password = "wrong" }, newPassword, ErrWrongPassword},
		"through a read-only one":       {func(c *Connection) { c.ReadOnly = true }, newPassword, ErrInvalidOption},
		"where there is no repository":  {func(c *Connection) { c.Storage = folder(t) }, newPassword, ErrNotInitialized},
		"where another one is expected": {func(c *Connection) { c.ExpectedUniqueID = "00ff" }, newPassword, ErrVanished},
	} {
		conn := connectionFor(t, c)
		tc.change(&conn)
		err := ChangePassword(ctx, conn, tc.to)
		require.ErrorIs(t, err, tc.want, name)
		assert.NotContains(t, err.Error(), newPassword)
		assert.Equal(t, before, tree(t, c.Storage.Filesystem.Path), name)
	}
}

// Wherever it is ended, the repository opens with one of the two passwords after it was asked again, and keeps its data.
func TestAChangeOfPasswordThatWasEndedIsDoneAgain(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for n := int64(1); ; n++ {
			require.Less(t, n, int64(20))
			ctx := testContext(t)
			c, r := created(t, folder(t))
			src := t.TempDir()
			writeFile(t, filepath.Join(src, "a"), "content", 0o644)
			up, err := r.Upload(ctx, uploadOf(src))
			require.NoError(t, err)
			tr := &trigger{n: math.MaxInt64, only: "put delete", manner: manner{after: after, forever: true}, do: func(string, string) error { return syscall.EIO }}
			broken := connectionFor(t, c)
			broken.Storage = tr.store(t, c.Storage.Filesystem.Path)
			tr.n = n
			err = ChangePassword(ctx, broken, newPassword)
			if !tr.fired() {
				require.NoError(t, err)
				assert.Greater(t, n, int64(2), "there are two blobs")
				break
			}
			require.NoError(t, ChangePassword(ctx, connectionFor(t, c), newPassword), "after call %d", n)
			c.Password = newPassword
			with(t, c, func(r *Repository) { assert.Equal(t, []string{"a"}, stored(t, r, up.Snapshot)) })
		}
	}
}
