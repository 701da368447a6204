// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testPassword = "correct horse battery staple"

// TestMain sets the umask of the mover: the modes of a shared repository depend on it.
func TestMain(m *testing.M) {
	syscall.Umask(0o007)
	os.Exit(m.Run())
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func connection(t *testing.T, s Storage) Connection {
	t.Helper()
	return Connection{
		Storage: s, Password: testPassword, Username: "kopiur", Hostname: "kopiur-test",
		WorkDir: t.TempDir(), Clock: time.Now,
	}
}

func folder(t *testing.T) Storage {
	t.Helper()
	return Storage{Filesystem: &Filesystem{Path: t.TempDir()}}
}

// created returns a connection to a fresh repository, and the repository.
func created(t *testing.T, s Storage) (Connection, *Repository) {
	t.Helper()
	ctx := testContext(t)
	c := connection(t, s)
	require.NoError(t, Create(ctx, c, CreateOptions{}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	require.NoError(t, r.Furnish(ctx))
	return c, r
}

var webData = Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	require.NoError(t, os.Chmod(path, mode))
}

func uploadOf(dir string) Upload {
	return Upload{Identity: webData, Path: dir, Parallel: 2, Progress: &Counters{}}
}
