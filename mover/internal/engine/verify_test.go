// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// two is a repository with two snapshots of nearly the same files, twelve in three folders of 100 KiB each.
func two(t *testing.T) (Connection, []Snapshot) {
	t.Helper()
	c, r := created(t, folder(t))
	src := t.TempDir()
	random := rand.NewChaCha8([32]byte{3})
	b := make([]byte, 100<<10)
	for _, name := range []string{"a", "b", "c", "d/a", "d/b", "d/c", "d/d", "d/e/a", "d/e/b", "d/e/c", "d/e/d", "d/e/e"} {
		_, _ = random.Read(b)
		writeFile(t, filepath.Join(src, name), string(b), 0o640)
	}
	require.NoError(t, os.Symlink("a", filepath.Join(src, "link")))
	ctx := testContext(t)
	_, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	writeFile(t, filepath.Join(src, "a"), "changed", 0o640)
	_, err = r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	require.Len(t, all, 2)
	return c, all
}

const restoredName = "restored"

// blobsOf are the files of blobs whose name begins with a prefix.
func blobsOf(t *testing.T, c Connection, prefix string) []string {
	t.Helper()
	var out []string
	dir := c.Storage.Filesystem.Path
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(strings.ReplaceAll(strings.TrimPrefix(p, dir), "/", ""), prefix) {
			out = append(out, p)
		}
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

func TestVerifyCountsEachThingOnce(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	for _, percent := range []int64{0, 100, 255} {
		with(t, c, func(r *Repository) {
			got, err := r.Verify(testContext(t), all, Verify{ReadPercent: percent, Parallel: 3, FileParallel: 3, Queue: 2, Progress: &Counters{}})
			require.NoError(t, err)
			assert.Zero(t, got.Errors)
			assert.Equal(t, int64(14), got.Files, "twelve files, one in two forms, and a link")
			assert.Equal(t, int64(12*(100<<10)+len("changed")+len("a")), got.Bytes)
			if percent == 0 {
				assert.Zero(t, got.FilesRead)
			} else {
				assert.Equal(t, got.Files, got.FilesRead)
				assert.Equal(t, got.Bytes, got.BytesRead)
			}
		})
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prefix string
		damage func(t *testing.T, path string)
		// unread: it is found without reading files.
		unread bool
		says   string
	}{
		"a blob of data that is missing": {"p", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Remove(path))
		}, true, "is missing"},
		"a blob of data that is cut off": {"p", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Truncate(path, 1000))
		}, true, "shorter than its index says"},
		"a blob of data with a bit that flipped": {"p", func(t *testing.T, path string) {
			t.Helper()
			flip(t, path)
		}, false, "decrypt"},
		"a blob of folders that is missing": {"q", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Remove(path))
		}, true, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, all := two(t)
			paths := blobsOf(t, c, tc.prefix)
			biggest := paths[0]
			for _, p := range paths {
				if size(t, p) > size(t, biggest) {
					biggest = p
				}
			}
			// Manifests are in blobs of folders as well: those have been read already.
			with(t, c, func(r *Repository) {
				_, err := r.List(testContext(t), webData)
				require.NoError(t, err)
				tc.damage(t, biggest)
				for _, percent := range []int64{0, 100} {
					got, err := r.Verify(testContext(t), all, Verify{ReadPercent: percent, Parallel: 2, FileParallel: 2, Progress: &Counters{}})
					require.NoError(t, err)
					if percent == 0 && !tc.unread {
						assert.Zero(t, got.Errors, "nobody has looked")
						continue
					}
					assert.Positive(t, got.Errors)
					require.NotEmpty(t, got.Faults)
					assert.Contains(t, got.Faults[0].Reason, tc.says)
					assert.True(t, strings.HasPrefix(got.Faults[0].Path, "web@apps:/pvc/data@"), got.Faults[0].Path)
				}
				got, err := r.Verify(testContext(t), all, Verify{ReadPercent: 100, MaxErrors: 1, Progress: &Counters{}})
				require.NoError(t, err)
				assert.Equal(t, int64(1), got.Errors, "no more than asked for")
			})
		})
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	return st.Size()
}

func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := len(b) / 4; i < len(b)/2; i++ {
		b[i] ^= 1
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// A store that does not answer proves no damage, whenever it stops to answer.
func TestVerifyTellsDamageFromAStoreThatFails(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	for n := int64(1); ; n++ {
		require.Less(t, n, int64(100))
		tr := &trigger{n: math.MaxInt64, only: "get list stat", manner: manner{forever: true}, do: func(string, string) error { return syscall.EIO }}
		broken := c
		broken.Storage = tr.store(t, c.Storage.Filesystem.Path)
		var fired bool
		with(t, broken, func(r *Repository) {
			tr.n = tr.calls.Load() + n
			got, err := r.Verify(testContext(t), all, Verify{ReadPercent: 100, Parallel: 2, FileParallel: 2, Progress: &Counters{}})
			assert.Zero(t, got.Errors, "call %d", n)
			if fired = tr.fired(); fired {
				require.ErrorIs(t, err, ErrStorage)
				require.ErrorIs(t, err, syscall.EIO)
			} else {
				require.NoError(t, err)
			}
			tr.n = math.MaxInt64
		})
		if !fired {
			assert.Greater(t, n, int64(5))
			break
		}
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	with(t, c, func(r *Repository) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(assert.AnError)
		_, err := r.Verify(ctx, all, Verify{Progress: &Counters{}})
		require.Error(t, err)
	})
}

func TestVerifyDeep(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	for name, tc := range map[string]struct {
		meddle func(t *testing.T, dir string)
		errors int64
	}{
		"what comes back is what was stored": {func(*testing.T, string) {}, 0},
		"a file that was changed since": {func(t *testing.T, dir string) {
			t.Helper()
			writeFile(t, filepath.Join(dir, "d/a"), "meddled", 0o600)
		}, 1},
		"a file that is gone, and one that is a link now": {func(t *testing.T, dir string) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(dir, "d/b")))
			require.NoError(t, os.Remove(filepath.Join(dir, "d/c")))
			require.NoError(t, os.Symlink("d", filepath.Join(dir, "d/c")))
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := t.TempDir()
			writeFile(t, filepath.Join(scratch, "of-somebody-else"), "kept", 0o600)
			writeFile(t, filepath.Join(scratch, restoredName, "of-one-that-was-killed"), "gone", 0o600)
			with(t, c, func(r *Repository) {
				seen := false
				got, err := r.VerifyDeep(testContext(t), all[0], Deep{Name: restoredName, Scratch: scratch, Parallel: 3, Progress: &Counters{}, meddle: func(dir string) {
					seen = true
					assert.NoFileExists(t, filepath.Join(dir, "of-one-that-was-killed"))
					tc.meddle(t, dir)
				}})
				require.NoError(t, err)
				assert.True(t, seen)
				assert.Equal(t, int64(12), got.Files)
				assert.Equal(t, tc.errors, got.Errors)
				assert.Equal(t, tc.errors == 0, got.Matches)
				assert.Len(t, got.Faults, int(tc.errors))
			})
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.Len(t, left, 1, "it removes what it made, and nothing else")
			assert.Equal(t, "of-somebody-else", left[0].Name())
		})
	}
}

func TestVerifyDeepKeepsForACheckOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	scratch := t.TempDir()
	with(t, c, func(r *Repository) {
		for range 2 {
			got, err := r.VerifyDeep(testContext(t), all[1], Deep{Name: restoredName, Scratch: scratch, Keep: true, Progress: &Counters{}})
			require.NoError(t, err)
			assert.True(t, got.Matches)
		}
	})
	assert.Equal(t, int64(100<<10), size(t, filepath.Join(scratch, restoredName, "a")))
	assert.NoFileExists(t, filepath.Join(scratch, ledgerName))
}

func TestVerifyDeepOfADamagedSnapshot(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	scratch := t.TempDir()
	for _, p := range blobsOf(t, c, "p") {
		flip(t, p)
	}
	with(t, c, func(r *Repository) {
		got, err := r.VerifyDeep(testContext(t), all[1], Deep{Name: restoredName, Scratch: scratch, Keep: true, Progress: &Counters{}})
		require.NoError(t, err)
		assert.Equal(t, int64(1), got.Errors)
		assert.False(t, got.Matches)
	})
}

func TestVerifyDeepNeedsItsScratchVolume(t *testing.T) {
	t.Parallel()
	c, all := two(t)
	with(t, c, func(r *Repository) {
		for name, dir := range map[string]string{"a folder that is not there": "/nowhere/at/all", "a file": blobsOf(t, c, "p")[0]} {
			_, err := r.VerifyDeep(testContext(t), all[0], Deep{Name: restoredName, Scratch: dir, Progress: &Counters{}})
			require.ErrorIs(t, err, ErrScratch, name)
		}
	})
}

func TestVerifyOverS3ReadsTheStore(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	gone := false
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone && strings.Contains(r.URL.Path, "/apps/p") {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	_, r := created(t, Storage{S3: &s})
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), strings.Repeat("content", 1000), 0o644)
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	s2, err := r.Load(ctx, up.Snapshot.ID)
	require.NoError(t, err)
	got, err := r.Verify(ctx, []Snapshot{s2}, Verify{ReadPercent: 100, Progress: &Counters{}})
	require.NoError(t, err)
	assert.Zero(t, got.Errors)
	gone = true
	got, err = r.Verify(ctx, []Snapshot{s2}, Verify{ReadPercent: 100, Progress: &Counters{}})
	require.NoError(t, err)
	assert.Equal(t, int64(1), got.Errors)
}
