// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// dataSets are small forms of what people have: many small files, and few large ones that do not compress.
var dataSets = []struct {
	name        string
	files, size int
}{
	{"5000 files of 1 KiB", 5000, 1 << 10},
	{"4 files of 32 MiB", 4, 32 << 20},
}

// fillSeeded makes the same files for the same seed.
func fillSeeded(tb testing.TB, dir string, files, size int) int64 {
	tb.Helper()
	random := rand.NewChaCha8([32]byte{7})
	buf := make([]byte, size)
	for i := range files {
		_, _ = random.Read(buf)
		folder := filepath.Join(dir, fmt.Sprintf("dir-%02d", i%50))
		require.NoError(tb, os.MkdirAll(folder, 0o750))
		require.NoError(tb, os.WriteFile(filepath.Join(folder, fmt.Sprintf("file-%06d", i)), buf, 0o600))
	}
	return int64(files) * int64(size)
}

// BenchmarkUpload measures the first backup of a source, and that of a source that has not changed since.
func BenchmarkUpload(b *testing.B) {
	for _, set := range dataSets {
		src := b.TempDir()
		bytes := fillSeeded(b, src, set.files, set.size)
		b.Run("first/"+set.name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				b.StopTimer()
				_, r := created(b, folder(b))
				b.StartTimer()
				_, err := r.Upload(testContext(b), uploadOf(src))
				require.NoError(b, err)
			}
		})
		b.Run("unchanged/"+set.name, func(b *testing.B) {
			_, r := created(b, folder(b))
			_, err := r.Upload(testContext(b), uploadOf(src))
			require.NoError(b, err)
			b.SetBytes(bytes)
			for b.Loop() {
				_, err := r.Upload(testContext(b), uploadOf(src))
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkRestore measures a restore into an empty folder.
func BenchmarkRestore(b *testing.B) {
	for _, set := range dataSets {
		b.Run(set.name, func(b *testing.B) {
			src := b.TempDir()
			b.SetBytes(fillSeeded(b, src, set.files, set.size))
			_, r := created(b, folder(b))
			up, err := r.Upload(testContext(b), uploadOf(src))
			require.NoError(b, err)
			s, err := r.Load(testContext(b), up.Snapshot.ID)
			require.NoError(b, err)
			for b.Loop() {
				b.StopTimer()
				dst := b.TempDir()
				b.StartTimer()
				_, err := r.Restore(testContext(b), s, Restore{Target: dst, Parallel: 4, Progress: &Counters{}})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkOpen measures what every mover pays before it does anything: the key derivation, mostly.
func BenchmarkOpen(b *testing.B) {
	c, _ := created(b, folder(b))
	for b.Loop() {
		r, err := Open(testContext(b), c)
		require.NoError(b, err)
		require.NoError(b, r.Close(testContext(b)))
	}
}

// D-2: BenchmarkDelete measures a thousand deletions from the opening of the repository to its end (M8).
func BenchmarkDelete(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c, r := created(b, folder(b))
		keys := saved(b, r, webData, nil, hours(1000)...)
		c.WorkDir = b.TempDir()
		b.StartTimer()
		deleting, err := Open(testContext(b), c)
		require.NoError(b, err)
		out, err := deleting.Delete(testContext(b), testContext(b), keys)
		require.NoError(b, err)
		require.NoError(b, deleting.Close(testContext(b)))
		require.True(b, out[999].Deleted)
	}
}

func fillRandom(b []byte, seed ...int) {
	var key [32]byte
	for i, s := range seed {
		key[i] = byte(s)
	}
	_, _ = rand.NewChaCha8(key).Read(b)
}
