// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopia/kopia/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// K-3, J-4, J-5, B-5: pinning changes the id, keeps everything else, and is found again by what stays.
func TestPin(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "content", 0o644)
	c, r := created(t, folder(t))
	u := uploadOf(src)
	u.Description, u.Tags = "before the upgrade", map[string]string{"kopiur": "web"}
	up, err := r.Upload(ctx, u)
	require.NoError(t, err)
	require.NoError(t, r.rep.Refresh(ctx))
	asked := Key{ID: up.Snapshot.ID, Identity: webData, Start: up.Snapshot.Start.Truncate(time.Second)}

	first, err := r.SetPin(ctx, asked, true)
	require.NoError(t, err)
	assert.True(t, first.Changed)
	assert.NotEqual(t, asked.ID, first.Snapshot.ID)
	assert.Equal(t, []string{ownPin}, first.Snapshot.Pins)
	assert.Equal(t, []string{first.Snapshot.ID}, ids(t, c, webData), "one comes for the other")

	require.NoError(t, r.rep.Refresh(ctx))
	again, err := r.SetPin(ctx, asked, true)
	require.NoError(t, err, "the retry of an attempt whose answer was lost")
	assert.False(t, again.Changed)
	assert.Equal(t, first.Snapshot.ID, again.Snapshot.ID, "and learns the id it did not get")

	pinned, err := r.Locate(ctx, asked)
	require.NoError(t, err)
	for name, pair := range map[string][2]any{
		"root":        {up.Snapshot.RootID, pinned.RootID},
		"start":       {up.Snapshot.Start, pinned.Start},
		"end":         {up.Snapshot.End, pinned.End},
		"description": {up.Snapshot.Description, pinned.Description},
		"tags":        {up.Snapshot.Tags, pinned.Tags},
		"size":        {up.Snapshot.Size, pinned.Size},
	} {
		assert.Equal(t, pair[0], pair[1], name)
	}
	found, err := r.FindByTag(ctx, "kopiur", "web")
	require.NoError(t, err)
	assert.Len(t, found, 1, "the labels stay, too")
	assert.Equal(t, []string{"a"}, stored(t, r, pinned))

	off, err := r.SetPin(ctx, asked, false)
	require.NoError(t, err)
	assert.True(t, off.Changed)
	assert.Empty(t, off.Snapshot.Pins)
	require.NoError(t, r.rep.Refresh(ctx))
	off, err = r.SetPin(ctx, asked, false)
	require.NoError(t, err)
	assert.False(t, off.Changed)
}

func TestPinsOfOthersStay(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	k := saved(t, r, webData, func(m *snapshot.Manifest) { m.Pins = []string{"legal"} }, hours(1)...)[0]
	for _, want := range []bool{true, false} {
		out, err := r.SetPin(ctx, k, want)
		require.NoError(t, err)
		assert.Equal(t, int64(1), out.Others)
		assert.Contains(t, out.Snapshot.Pins, "legal")
		require.NoError(t, r.rep.Refresh(ctx))
	}
}

// D-3.
func TestPinRefuses(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	partial := saved(t, r, webData, func(m *snapshot.Manifest) { m.IncompleteReason = "checkpoint" }, hours(1)...)[0]
	other := Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"}
	for name, tc := range map[string]struct {
		key  Key
		want error
	}{
		"a checkpoint, which the next upload removes": {partial, ErrMismatch},
		"one that is not there":                       {Key{ID: strings.Repeat("0", 32), Identity: webData, Start: time.Unix(1, 0)}, ErrSnapshotNotFound},
		"one whose manifest cannot be decoded":        {Key{ID: broken(t, r, other), Identity: other}, ErrMismatch},
	} {
		_, err := r.SetPin(ctx, tc.key, true)
		require.ErrorIs(t, err, tc.want, name)
	}
}
