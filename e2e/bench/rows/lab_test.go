// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
)

func testLab(t *testing.T) *Lab {
	t.Helper()
	return &Lab{
		Work: t.TempDir(), Rounds: 3, Log: func(string, ...any) {}, LeftOut: func(string, string) {},
		Sizes: data.Sizes{data.OneFile: {Set: data.OneFile, Seed: 1, Bytes: 1000}},
	}
}

func TestProgramsRunInTurns(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	var ran []string
	fake := func(name string, wall time.Duration) side {
		return side{name, func(context.Context, int) (measure.Sample, error) {
			ran = append(ran, name)
			return measure.Sample{Wall: wall}, nil
		}}
	}
	got, err := l.interleave(t.Context(), "M1", []side{fake("a", 2*time.Second), fake("b", time.Second), fake("c", 3*time.Second)}, func(int) error {
		ran = append(ran, "|")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"|", "a", "b", "c", "|", "b", "c", "a", "|", "c", "a", "b"}, ran)
	assert.Len(t, got.samples["c"], 3)
	assert.InDelta(t, 2.0, got.ratio("a", "b").Median, 0)
	assert.Equal(t, "a", got.fastest("a", "c"), "of those that are asked for")
	assert.Equal(t, "b", got.fastest("nobody", "b"), "a peer that is not installed is not the fastest")
}

func TestAProgramThatFailsEndsItsRow(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	broken := errors.New("stored nothing")
	_, err := l.interleave(t.Context(), "M1", []side{
		{"a", func(context.Context, int) (measure.Sample, error) { return measure.Sample{}, nil }},
		{"b", func(context.Context, int) (measure.Sample, error) { return measure.Sample{}, broken }},
	}, nil)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "round 1, b")
}

func TestASetIsMadeOnceAndRemoved(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	dir, tree, err := l.Source(data.OneFile)
	require.NoError(t, err)
	assert.EqualValues(t, 1000, tree.Bytes)
	again, same, err := l.Source(data.OneFile)
	require.NoError(t, err)
	assert.Equal(t, dir, again)
	require.NoError(t, tree.Compare(same))
	require.NoError(t, l.Release())
	assert.NoDirExists(t, dir)

	_, _, err = l.Source(data.OneFile)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(l.Work, "runs"), 0o750))
	require.NoError(t, os.MkdirAll(l.fresh("store"), 0o750))
	require.NoError(t, l.Abandon(), "after a row that failed nothing of it is in the way of the next")
	entries, err := os.ReadDir(l.Work)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "runs", entries[0].Name())
}

func TestTheDiskIsNotFilled(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	assert.True(t, l.fits(1))
	l.KeepFree = 1 << 60
	assert.False(t, l.fits(1))
}

func TestTheOddSetIsJudgedByWhatIsTold(t *testing.T) {
	t.Parallel()
	told := func(names, fifos int64, id string) work.Result {
		return work.Result{Code: work.CodePermissionDenied, Snapshot: &work.SnapshotResult{
			SnapshotID: id, Unstored: &work.Unstored{UnsupportedNames: names, Unsupported: map[string]int64{"fifo": fifos}},
		}}
	}
	v := &peers.Vault{}
	require.NoError(t, checkOdd(told(1, 1, "m1"), v))
	assert.Equal(t, "m1", v.Snapshot)
	for name, r := range map[string]work.Result{
		"nothing was stored":              told(1, 1, ""),
		"a name was lost in silence":      told(0, 1, "m1"),
		"a fifo was lost in silence":      told(1, 0, "m1"),
		"the mover claims to have it all": {Code: work.CodeOK, Snapshot: &work.SnapshotResult{SnapshotID: "m1"}},
	} {
		require.Error(t, checkOdd(r, v), name)
	}
}
