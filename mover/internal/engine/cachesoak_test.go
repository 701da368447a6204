// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// G-1 to G-3: whatever goes through it, and however often, the cache stays below 80 % of its volume.
func TestTheCacheStaysWithinItsVolume(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Mounting(t) {
		return
	}
	const volume = 160 << 20
	rounds, large, small := 1, 144, 300 // MiB that do not compress, and files of a folder
	if soak {
		rounds, large, small = 4, 256, 20_000
	}
	dir := t.TempDir()
	unprivileged.Volume(t, dir, volume)
	s, _ := s3Server(t, false, nil)
	c, _ := created(t, Storage{S3: &s})
	// As backend.Cache derives them of such a volume.
	c.Cache = Cache{Dir: dir, ContentBytes: volume / 5 * 4 / 8 * 3, MetadataBytes: volume / 5 * 4 / 8 * 5, Advise: func(s string) { t.Error(s) }}
	for round := range rounds {
		src := t.TempDir()
		for i := range small {
			writeFile(t, filepath.Join(src, fmt.Sprintf("d%03d/f%06d", i%500, i)), fmt.Sprint(round, i), 0o644)
		}
		for i := range large / 8 {
			b := make([]byte, 8<<20)
			fillRandom(b, round, i)
			require.NoError(t, os.WriteFile(filepath.Join(src, fmt.Sprint("large", i)), b, 0o600))
		}
		with(t, c, func(r *Repository) {
			ctx := t.Context()
			up, err := r.Upload(ctx, uploadOf(src))
			require.NoError(t, err)
			got, err := r.Verify(ctx, []Snapshot{up.Snapshot}, Verify{ReadPercent: 100, Parallel: 2, FileParallel: 2, Queue: 100, Progress: &Counters{}})
			require.NoError(t, err)
			assert.Zero(t, got.Errors)
			_, err = r.Restore(ctx, up.Snapshot, Restore{Target: t.TempDir(), Parallel: 2, Progress: &Counters{}})
			require.NoError(t, err)
		})
		var st unix.Statfs_t
		require.NoError(t, unix.Statfs(dir, &st))
		used := int64(st.Blocks-st.Bfree) * st.Bsize
		t.Logf("figures: round %d of %d: %d MiB of %d are used", round+1, rounds, used>>20, volume>>20)
		assert.LessOrEqual(t, used, int64(volume/5*4))
		assert.Greater(t, used, int64(16<<20), "it is used at all")
	}
}
