// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A file is opened in one step or in many, and either way it is the one below the root or none.
func TestOpeningAFileOfASource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	writeFile(t, filepath.Join(src, "d/f"), "inside", 0o644)
	writeFile(t, filepath.Join(dir, "secret"), "outside", 0o644)
	require.NoError(t, os.Symlink("../../secret", filepath.Join(src, "d/out")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(src, "d/absolute")))
	require.NoError(t, os.Symlink("f", filepath.Join(src, "d/in")))
	require.NoError(t, os.Symlink("..", filepath.Join(src, "d/up")))
	require.NoError(t, unix.Mkfifo(filepath.Join(src, "d/pipe"), 0o600))
	sys, err := openRootFS(src)
	require.NoError(t, err)
	defer sys.Close()
	r, ok := sys.(rootFS)
	require.True(t, ok)

	for rel, want := range map[string]string{"d/f": "inside", "d/in": "inside", "d/up/d/f": "inside"} {
		f := r.openBeneath(rel)
		if f == nil {
			t.Log("this kernel opens no file in one step")
		} else {
			require.NoError(t, f.Close())
		}
		h, err := sys.OpenFile(rel)
		require.NoError(t, err, rel)
		got, err := io.ReadAll(h)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		require.NoError(t, h.Close())
	}
	for _, rel := range []string{"d/out", "d/absolute", "d/up/../secret", "../secret", "/etc/passwd", "d/none"} {
		assert.Nil(t, r.openBeneath(rel), rel)
		_, err := sys.OpenFile(rel)
		require.Error(t, err, rel)
	}
	h, err := sys.OpenFile("d/pipe")
	require.NoError(t, err, "nobody writes into it, and nobody waits")
	require.NoError(t, h.Close())

	// Longer than any path that the kernel takes at once.
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 200)+"/", 25), "/")
	root, err := os.OpenRoot(src)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.MkdirAll(deep, 0o750))
	require.NoError(t, root.WriteFile(deep+"/f", []byte("deep"), 0o600))
	assert.Nil(t, r.openBeneath(deep+"/f"))
	h, err = sys.OpenFile(deep + "/f")
	require.NoError(t, err)
	got, err := io.ReadAll(h)
	require.NoError(t, err)
	assert.Equal(t, "deep", string(got))
	require.NoError(t, h.Close())
}

// Attributes are the same whether a file is asked or its name.
func TestAttributesOfAnOpenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, want := range map[string]bool{"plain": false, "marked": true} {
		path := filepath.Join(dir, name)
		writeFile(t, path, "x", 0o644)
		if want {
			if err := unix.Setxattr(path, "user.note", []byte("x"), 0); err != nil {
				t.Logf("this file system has no attributes: %v", err)
				want = false
			}
		}
		sys, err := openRootFS(dir)
		require.NoError(t, err)
		h, err := sys.OpenFile(name)
		require.NoError(t, err)
		e := extendedOf(h)
		require.NotNil(t, e)
		xattr, acl, err := sys.Extended(name)
		assert.Equal(t, extended{xattr, acl, err}, *e)
		assert.Equal(t, want, e.xattr)
		assert.Nil(t, extendedOf(blindHandle{h}), "one that cannot be asked")
		require.NoError(t, h.Close())
		require.NoError(t, sys.Close())
	}
}
