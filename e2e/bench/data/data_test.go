// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"bytes"
	"compress/flate"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/data"
)

// small are the data sets in sizes for a test.
func small() data.Sizes {
	out := data.Short()
	for set, files := range map[data.Set]int{data.ManyFiles: 300, data.Sources: 200} {
		s := out[set]
		s.Files, s.Folders, s.Bytes = files, 10, int64(files)*2048
		out[set] = s
	}
	for _, set := range []data.Set{data.OneFile, data.Mixed} {
		s := out[set]
		s.Bytes = 5 << 20
		out[set] = s
	}
	for _, set := range []data.Set{data.Sparse, data.SparseDense} {
		s := out[set]
		s.Bytes = 4 << 20
		if s.Apparent > 0 {
			s.Apparent = 32 << 20
		}
		out[set] = s
	}
	return out
}

func made(t *testing.T, s data.Spec) (string, data.Tree) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, data.Generate(dir, s))
	tree, err := data.Look(dir, nil)
	require.NoError(t, err)
	return dir, tree
}

func TestASeedGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, set := range data.Kinds() {
		t.Run(string(set), func(t *testing.T) {
			t.Parallel()
			s := small()[set]
			_, one := made(t, s)
			_, two := made(t, s)
			require.NoError(t, one.Compare(two))
			assert.Positive(t, one.Files)
			s.Seed++
			_, other := made(t, s)
			assert.NotEqual(t, one.Sum, other.Sum, "another seed gives other bytes")
		})
	}
}

func TestASetIsWhatItSays(t *testing.T) {
	t.Parallel()
	all := small()
	t.Run("D1 is files of 1 KiB, spread over its folders", func(t *testing.T) {
		t.Parallel()
		dir, tree := made(t, all[data.ManyFiles])
		assert.Equal(t, 300, tree.Files)
		assert.EqualValues(t, 300*1024, tree.Bytes)
		assert.Equal(t, 10+1, tree.Folders)
		entries, err := os.ReadDir(filepath.Join(dir, "dir-00003"))
		require.NoError(t, err)
		assert.Len(t, entries, 30)
	})
	t.Run("D2 is one file that does not compress", func(t *testing.T) {
		t.Parallel()
		dir, tree := made(t, all[data.OneFile])
		assert.Equal(t, 1, tree.Files)
		assert.EqualValues(t, 5<<20, tree.Bytes)
		assert.Greater(t, ratio(t, filepath.Join(dir, "large")), 0.99)
	})
	t.Run("D3 is 40 % copies, and 60 % of it compress", func(t *testing.T) {
		t.Parallel()
		dir, tree := made(t, all[data.Mixed])
		assert.EqualValues(t, 5<<20, tree.Bytes)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		seen, copies, compress, blocks := map[string]bool{}, 0, 0, 0
		for _, path := range files {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			if seen[string(b)] {
				copies++
				continue
			}
			seen[string(b)] = true
			for block := range len(b) >> 15 {
				blocks++
				if packed(t, b[block<<15:(block+1)<<15]) < 0.6 {
					compress++
				}
			}
		}
		assert.InDelta(t, 0.4, float64(copies)/float64(len(files)), 0.001)
		assert.InDelta(t, 0.6, float64(compress)/float64(blocks), 0.03)
	})
	t.Run("D4 is a tree of text, most files small and some large", func(t *testing.T) {
		t.Parallel()
		dir, tree := made(t, all[data.Sources])
		assert.Equal(t, 200, tree.Files)
		assert.InEpsilon(t, 200*2048, tree.Bytes, 0.01)
		assert.Greater(t, tree.Folders, 20)
		largest := int64(0)
		require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() && info.Size() > largest {
				largest = info.Size()
				assert.Less(t, ratio(t, path), 0.6, path)
			}
			return err
		}))
		assert.Greater(t, largest, 5*tree.Bytes/200)
	})
	t.Run("D5 is mostly holes, and its data is that of D5-dense", func(t *testing.T) {
		t.Parallel()
		dir, tree := made(t, all[data.Sparse])
		assert.EqualValues(t, 32<<20, tree.Bytes)
		took, err := data.Allocated(dir)
		require.NoError(t, err)
		assert.InEpsilon(t, 4<<20, took, 0.2)
		full, err := os.ReadFile(filepath.Join(dir, "disk"))
		require.NoError(t, err)
		without, _ := made(t, all[data.SparseDense])
		dense, err := os.ReadFile(filepath.Join(without, "disk"))
		require.NoError(t, err)
		assert.Len(t, dense, 4<<20)
		var kept []byte
		for at := 0; at < len(full); at += 1 << 20 {
			if b := full[at : at+1<<20]; !bytes.Equal(b, make([]byte, 1<<20)) {
				kept = append(kept, b...)
			}
		}
		assert.True(t, bytes.Equal(dense, kept))
	})
	t.Run("D8 has one of everything that is odd", func(t *testing.T) {
		t.Parallel()
		dir, _ := made(t, all[data.Odd])
		kinds, longest, strange := map[os.FileMode]int{}, 0, 0
		links := uint64(0)
		require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			kinds[info.Mode().Type()|info.Mode()&os.ModeSetuid]++
			longest = max(longest, len(path))
			if !utf8.ValidString(path) {
				strange++
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
				links = max(links, st.Nlink)
			}
			return err
		}))
		assert.Equal(t, 5, kinds[os.ModeSymlink])
		assert.Equal(t, 1, kinds[os.ModeNamedPipe])
		assert.Equal(t, 1, kinds[os.ModeSetuid])
		assert.Equal(t, 1, strange)
		assert.EqualValues(t, 2, links)
		assert.Equal(t, 4096-64, longest)
	})
}

func TestAnEditChangesOneOfAHundred(t *testing.T) {
	t.Parallel()
	s := small()[data.Sources]
	dir, before := made(t, s)
	changed := before
	for round := range 3 {
		n, err := data.Edit(dir, s, round)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
		now, err := data.Look(dir, nil)
		require.NoError(t, err)
		err = changed.Compare(now)
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), "2 of "), "%v", err)
		changed = now
	}
	// Both sides of a comparison and two machines edit alike.
	again, _ := made(t, s)
	for round := range 3 {
		_, err := data.Edit(again, s, round)
		require.NoError(t, err)
	}
	now, err := data.Look(again, nil)
	require.NoError(t, err)
	require.NoError(t, changed.Compare(now))
}

func TestADifferenceIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"a byte":              func(dir string) error { return os.WriteFile(filepath.Join(dir, "f"), []byte("b"), 0o600) },
		"a mode":              func(dir string) error { return os.Chmod(filepath.Join(dir, "f"), 0o640) },
		"a file too many":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "g"), nil, 0o600) },
		"a file that is gone": func(dir string) error { return os.Remove(filepath.Join(dir, "f")) },
		"where a link leads": func(dir string) error {
			return errorsOf(os.Remove(filepath.Join(dir, "l")), os.Symlink("g", filepath.Join(dir, "l")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a"), 0o600))
			require.NoError(t, os.Symlink("f", filepath.Join(dir, "l")))
			before, err := data.Look(dir, nil)
			require.NoError(t, err)
			require.NoError(t, change(dir))
			after, err := data.Look(dir, nil)
			require.NoError(t, err)
			require.ErrorContains(t, before.Compare(after), "1 of 3 entries differ")
		})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ratio is how small a file becomes.
func ratio(t *testing.T, path string) float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return packed(t, b)
}

func packed(t *testing.T, b []byte) float64 {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return float64(out.Len()) / float64(len(b))
}
