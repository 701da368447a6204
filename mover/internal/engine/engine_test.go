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

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	// It runs while parallel tests wait for their turn, which takes minutes on a busy machine.
	ctx, cancel := context.WithTimeout(tb.Context(), 15*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

func connection(tb testing.TB, s Storage) Connection {
	tb.Helper()
	return Connection{
		Storage: s, Password: testPassword, Username: "kopiur", Hostname: "kopiur-test",
		WorkDir: tb.TempDir(), Clock: time.Now,
	}
}

func folder(tb testing.TB) Storage {
	tb.Helper()
	return Storage{Filesystem: &Filesystem{Path: tb.TempDir()}}
}

// created returns a connection to a fresh repository, and the repository.
func created(tb testing.TB, s Storage) (Connection, *Repository) {
	tb.Helper()
	ctx := testContext(tb)
	c := connection(tb, s)
	require.NoError(tb, Create(ctx, c, CreateOptions{}))
	r, err := Open(ctx, c)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, r.Close(context.Background())) })
	require.NoError(tb, r.Furnish(ctx))
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
