// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// pairs are n snapshots of two identities, one a minute, of which every second was there before.
func pairs(n int) []engine.Pair {
	out := make([]engine.Pair, n)
	for i := range out {
		s := engine.Snapshot{
			ID: fmt.Sprintf("source-%04d", i), Identity: engine.Identity{Username: fmt.Sprint("web", i%2), Hostname: "apps", Path: "/pvc/data"},
			Start: time.Date(2026, 3, 5, 0, n-i, 0, 7, time.UTC), Size: 1,
		}
		c := s
		c.ID = fmt.Sprintf("copy-%04d", i)
		out[i] = engine.Pair{Source: s, Copy: c, Present: i%2 == 0}
	}
	return out
}

// run collects pages until there is room for no more, and goes on as the controller does.
func run(t *testing.T, all []engine.Pair, present bool, pagesPerMover int) (records []work.CopyRecord, movers int) {
	t.Helper()
	var cursor work.Cursor
	for {
		movers++
		require.Less(t, movers, 1000)
		res := &work.MigrateResult{}
		var pages []work.Page
		from, err := parse(cursor)
		require.NoError(t, err)
		require.NoError(t, records2(res, all, present, from, cursor, func(p work.Page) bool {
			if len(pages) == pagesPerMover {
				return false
			}
			pages = append(pages, p)
			return true
		}))
		assert.Len(t, pages, res.Pages)
		for i, p := range pages {
			assert.Equal(t, i+1, p.Number)
			b, err := work.EncodeEvent(work.Event{Type: work.EventPage, Page: &p})
			require.NoError(t, err)
			assert.LessOrEqual(t, len(b), work.MaxPageBytes)
			records = append(records, p.Copies...)
		}
		if res.Cursor == "" {
			return records, movers
		}
		cursor = res.Cursor
	}
}

func records2(res *work.MigrateResult, all []engine.Pair, present bool, from time.Time, cursor work.Cursor, page func(work.Page) bool) error {
	return records(page, res, append([]engine.Pair(nil), all...), present || cursor != "", from, cursor)
}

func TestRecordsOfAnyLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 50, 500} {
		got, movers := run(t, pairs(n), true, 1000)
		assert.Len(t, got, n)
		assert.Equal(t, 1, movers)
		for i := 1; i < len(got); i++ {
			assert.True(t, got[i-1].StartTime.Before(got[i].StartTime), "in the order they started")
		}
	}
	got, movers := run(t, pairs(500), true, 2)
	assert.Greater(t, movers, 3)
	seen := map[string]bool{}
	for _, r := range got {
		seen[r.SourceID] = true
	}
	assert.Len(t, seen, 500, "none is left out")
	assert.LessOrEqual(t, len(got), 500+movers, "at worst one is named twice by each")
}

func TestRecordsOfWhatWasCopied(t *testing.T) {
	t.Parallel()
	got, _ := run(t, pairs(10), false, 10)
	require.Len(t, got, 5)
	for _, r := range got {
		assert.False(t, r.Present)
		assert.Equal(t, 7, r.StartTime.Nanosecond(), "exact")
	}
}

func TestRecordsThatDoNotFitAtAll(t *testing.T) {
	t.Parallel()
	err := records(func(work.Page) bool { return false }, &work.MigrateResult{}, pairs(3), true, time.Time{}, "")
	require.ErrorIs(t, err, errNoProgress)
	_, err = parse("yesterday")
	require.ErrorIs(t, err, backend.ErrInvalidSpec)
	_, err = Policies("some")
	require.ErrorIs(t, err, backend.ErrInvalidSpec)
}
