// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree lists a folder with sizes, to prove that nothing was written.
func tree(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		out[p] = st.Size()
		return nil
	}))
	return out
}

// K-9, K-8: a wrong password, no repository, another one and one that is gone are different answers.
func TestOpenTellsApart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// arrange may change the connection to a repository that was just created, or its folder.
		arrange func(t *testing.T, c *Connection)
		want    error
	}{
		"a wrong password": {func(_ *testing.T, c *Connection) { c.Password = "wrong" }, ErrWrongPassword},
		"an empty folder": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.Storage.Filesystem.Path = t.TempDir()
		}, ErrNotInitialized},
		"an empty ext4 volume, which has lost+found": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.Storage.Filesystem.Path = t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(c.Storage.Filesystem.Path, "lost+found"), 0o700))
		}, ErrNotInitialized},
		"a folder that holds something else": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.Storage.Filesystem.Path = t.TempDir()
			writeFile(t, filepath.Join(c.Storage.Filesystem.Path, "photos/cat.jpg"), "meow", 0o600)
		}, ErrOccupied},
		"a file in the place of a folder": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.Storage.Filesystem.Path = filepath.Join(t.TempDir(), "file")
			writeFile(t, c.Storage.Filesystem.Path, "x", 0o600)
		}, ErrOccupied},
		"no folder at all": {func(_ *testing.T, c *Connection) { c.Storage.Filesystem.Path += "/missing" }, ErrLocationMissing},
		"a known repository that is gone": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.ExpectedUniqueID = "00ff"
			c.Storage.Filesystem.Path = t.TempDir()
		}, ErrVanished},
		"a known repository whose folder is gone": {func(_ *testing.T, c *Connection) {
			c.ExpectedUniqueID = "00ff"
			c.Storage.Filesystem.Path += "/missing"
		}, ErrVanished},
		"another repository in the place of a known one": {func(_ *testing.T, c *Connection) { c.ExpectedUniqueID = "00ff" }, ErrVanished},
		"a known repository overwritten by something else": {func(t *testing.T, c *Connection) {
			t.Helper()
			c.ExpectedUniqueID = "00ff"
			c.Storage.Filesystem.Path = t.TempDir()
			writeFile(t, filepath.Join(c.Storage.Filesystem.Path, "photos/cat.jpg"), "meow", 0o600)
		}, ErrVanished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			c, _ := created(t, folder(t))
			c.WorkDir = t.TempDir()
			tc.arrange(t, &c)
			_, err := Open(ctx, c)
			require.ErrorIs(t, err, tc.want)
			assert.NotContains(t, err.Error(), testPassword)
			left, err := os.ReadDir(c.WorkDir)
			require.NoError(t, err)
			assert.Empty(t, left, "the connection file holds the storage's keys; it is removed after a failure too")
		})
	}
}

// K-8.
func TestCreateWritesOnlyWhereNothingIs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)

	c := connection(t, folder(t))
	dir := c.Storage.Filesystem.Path
	writeFile(t, filepath.Join(dir, "photos/cat.jpg"), "meow", 0o600)
	before := tree(t, dir)
	require.ErrorIs(t, Create(ctx, c, CreateOptions{}), ErrOccupied)
	assert.Equal(t, before, tree(t, dir), "nothing was written")

	c = connection(t, folder(t))
	c.ExpectedUniqueID = "00ff"
	require.ErrorIs(t, Create(ctx, c, CreateOptions{}), ErrVanished, "a known repository is never created again")
	entries, err := os.ReadDir(c.Storage.Filesystem.Path)
	require.NoError(t, err)
	assert.Empty(t, entries)

	c.ExpectedUniqueID = ""
	require.NoError(t, Create(ctx, c, CreateOptions{}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	id := r.UniqueID()
	require.NoError(t, r.Close(ctx))
	require.NoError(t, Create(ctx, c, CreateOptions{}), "a second mover that comes too late finds its work done")
	c.ExpectedUniqueID = id
	r, err = Open(ctx, c)
	require.NoError(t, err, "and has not replaced anything")
	require.NoError(t, r.Close(ctx))
}

func TestCreateOptions(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	f := r.rep.ObjectFormat()
	assert.Equal(t, DefaultSplitter, f.Splitter)
	assert.Equal(t, DefaultHash, r.rep.FormatManager().GetHashFunction())

	c := connection(t, folder(t))
	require.NoError(t, Create(ctx, c, CreateOptions{Hash: "BLAKE2B-256-128", Splitter: "FIXED-4M", Encryption: "CHACHA20-POLY1305-HMAC-SHA256"}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer r.Close(context.Background())
	assert.Equal(t, "FIXED-4M", r.rep.ObjectFormat().Splitter)
	assert.Equal(t, "BLAKE2B-256-128", r.rep.FormatManager().GetHashFunction())
	assert.Equal(t, "CHACHA20-POLY1305-HMAC-SHA256", r.rep.FormatManager().GetEncryptionAlgorithm())

	for name, o := range map[string]CreateOptions{
		"an unknown hash":            {Hash: "MD5"},
		"an unknown splitter":        {Splitter: "HALVES"},
		"an unknown encryption":      {Encryption: "ROT13"},
		"an unknown ecc":             {ECC: "PRAYER"},
		"an overhead over a hundred": {ECCOverheadPercent: 101},
	} {
		bad := connection(t, folder(t))
		require.ErrorIs(t, Create(ctx, bad, o), ErrInvalidOption, name)
		assert.Len(t, tree(t, bad.Storage.Filesystem.Path), 1, "nothing was written")
	}
}

func TestConnectionFile(t *testing.T) {
	t.Parallel()
	c, r := created(t, folder(t))
	st, err := os.Stat(r.config)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	assert.Equal(t, c.WorkDir, filepath.Dir(r.config))
	b, err := os.ReadFile(r.config)
	require.NoError(t, err)
	assert.NotContains(t, string(b), testPassword)
	assert.Equal(t, "kopiur@kopiur-test", r.Owner(), "the maintenance owner is never the pod's name")
}

// Many movers with different uids share a filesystem repository through its group.
func TestFilesystemModes(t *testing.T) {
	t.Parallel()
	c, r := created(t, folder(t))
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "f"), "content", 0o644)
	_, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(c.Storage.Filesystem.Path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == c.Storage.Filesystem.Path {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			assert.Equal(t, os.ModeDir|os.ModeSetgid|0o770, st.Mode(), p)
		} else {
			assert.Equal(t, os.FileMode(0o660), st.Mode(), p)
		}
		return nil
	}))
}

// G-1.
func TestCacheLimitsAreHard(t *testing.T) {
	t.Parallel()
	o := Cache{Dir: "/c", ContentBytes: 1, MetadataBytes: 1000 << 20}.options()
	assert.Equal(t, int64(minCacheBytes), o.ContentCacheSizeBytes, "the floor")
	assert.Equal(t, o.ContentCacheSizeBytes, o.ContentCacheSizeLimitBytes)
	assert.Equal(t, int64(500<<20), o.MetadataCacheSizeLimitBytes)
	assert.Equal(t, o.MetadataCacheSizeBytes, o.MetadataCacheSizeLimitBytes, "and as much for index blobs")
	assert.Less(t, o.MinMetadataSweepAge.DurationOrDefault(time.Hour), 10*time.Minute, "which have no other limit than their age")
	assert.Empty(t, Cache{ContentBytes: 1 << 30}.options().CacheDirectory, "no folder, no cache")
}

// E-10.
func TestThrottleReachesTheConnection(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, _ := created(t, folder(t))
	c.WorkDir = t.TempDir()
	c.Throttle = Throttle{UploadBytesPerSecond: 1e6, DownloadBytesPerSecond: 2e6, ReadOpsPerSecond: 300, WriteOpsPerSecond: 400}
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer r.Close(ctx)
	var file struct {
		Storage struct {
			Type   string           `json:"type"`
			Config throttledOptions `json:"config"`
		} `json:"storage"`
	}
	b, err := os.ReadFile(r.config)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &file))
	assert.Equal(t, throttledType, file.Storage.Type)
	assert.Equal(t, c.Throttle, file.Storage.Config.Throttle)
	assert.Equal(t, "filesystem", r.rep.BlobReader().ConnectionInfo().Type, "it is the same storage to whoever asks")
}

func TestReadOnlyConnectionWritesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r := created(t, folder(t))
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "f"), "content", 0o644)
	_, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	before := tree(t, c.Storage.Filesystem.Path)
	c.ReadOnly, c.WorkDir = true, t.TempDir()
	ro, err := Open(ctx, c)
	require.NoError(t, err)
	_, err = ro.List(ctx, webData)
	require.NoError(t, err)
	_, err = ro.Stats(ctx)
	require.NoError(t, err)
	require.NoError(t, ro.Close(ctx))
	assert.Equal(t, before, tree(t, c.Storage.Filesystem.Path))
}

// A deadline that passes while the store answers is "slow", one that passes before it answered is "unreachable" (C-3).
func TestSlowIsNotUnreachable(t *testing.T) {
	t.Parallel()
	c, _ := created(t, folder(t))
	c.WorkDir = t.TempDir()
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err := Open(ctx, c)
	require.ErrorIs(t, err, ErrSlow)
	require.NotErrorIs(t, err, ErrUnreachable)
}

func TestFurnishIsIdempotentAndLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r := created(t, folder(t))
	before := tree(t, c.Storage.Filesystem.Path)
	require.NoError(t, r.Furnish(ctx))
	assert.Equal(t, before, tree(t, c.Storage.Filesystem.Path), "the second time nothing is written")
}
