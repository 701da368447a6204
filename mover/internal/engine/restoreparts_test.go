// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAStoredPartIsDataLikeAnyOther: what a killed restore left was backed up since, beside the file that it belonged to.
func TestAStoredPartIsDataLikeAnyOther(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	left := partName("victim", nil)
	again := partName("victim", map[string]bool{left: true})
	require.NotEqual(t, left, again)
	want := map[string]string{"victim": "whole", left: "torn", again: "torn again", "zoo": "z"}
	for name, content := range want {
		writeFile(t, filepath.Join(src, name), content, 0o600)
	}
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	dst := t.TempDir()
	for _, parallel := range []int{1, 4} {
		out, err := r.Restore(ctx, up.Snapshot, Restore{Target: dst, Parallel: parallel, Progress: &Counters{}})
		require.NoError(t, err)
		assert.Equal(t, int64(4), out.Files)
		for name, content := range want {
			got, err := os.ReadFile(filepath.Join(dst, name))
			require.NoError(t, err)
			assert.Equal(t, content, string(got), name)
		}
	}
}
