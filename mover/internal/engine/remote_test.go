// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/kopia/kopia/repo/blob/retrying"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C-12: some clients know of no context while they connect.
func TestOpeningEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, closed := make(chan struct{}), make(chan struct{})
	_, err := prompt(ctx, func() (blob.Storage, error) {
		<-late
		return closing{closed: closed}, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	close(late)
	<-closed // a store that comes late is not left open
}

type closing struct {
	blob.Storage

	closed chan struct{}
}

func (c closing) Close(context.Context) error {
	close(c.closed)
	return nil
}

// The probe looks below kopia's retries. A kopia that wraps its stores in another way must be noticed.
func TestBelowTheRetries(t *testing.T) {
	t.Parallel()
	plain, err := filesystem.New(t.Context(), &filesystem.Options{Path: t.TempDir()}, false)
	require.NoError(t, err)
	wrapped := retrying.NewWrapper(plain)
	assert.NotSame(t, plain, wrapped)
	assert.Same(t, plain, unretried(wrapped))
	assert.Same(t, plain, unretried(plain), "what is not wrapped stays")
}

// program puts a script into PATH in rclone's place.
func program(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rclone"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestRcloneProbe(t *testing.T) {
	for name, tc := range map[string]struct { //nolint:paralleltest // PATH
		script string
		want   error
		says   string
	}{
		"an empty folder":                {"exit 0", ErrNotInitialized, ""},
		"a folder that is not there yet": {"echo directory not found >&2; exit 3", ErrNotInitialized, ""},
		"photos":                         {"echo cat.jpg", ErrOccupied, "cat.jpg"},
		"a remote that fails":            {`echo "2026/03/05 02:00:00 CRITICAL: Failed to create file system: no such host" >&2; exit 1`, ErrStorage, "rclone: Failed to create file system: no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			program(t, tc.script)
			_, err := Open(testContext(t), connection(t, Storage{Rclone: &Rclone{RemotePath: "nas:backups", Config: "[nas]"}}))
			require.ErrorIs(t, err, tc.want)
			assert.ErrorContains(t, err, tc.says)
		})
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Open(testContext(t), connection(t, Storage{Rclone: &Rclone{RemotePath: "nas:backups"}}))
	require.ErrorIs(t, err, ErrNoRclone)
}
