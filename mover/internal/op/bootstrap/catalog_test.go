// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

func snap(n int) engine.Snapshot {
	start := time.Date(2026, 3, 5, 0, 0, 0, n, time.UTC).Add(time.Duration(n) * time.Minute)
	return engine.Snapshot{
		ID: fmt.Sprintf("%032x", n), Identity: engine.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"},
		Start: start, End: start.Add(time.Second), Size: int64(n), Description: strings.Repeat("d", n%50),
	}
}

// newest sorts as the engine does.
func newest(all []engine.Snapshot) []engine.Snapshot {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b engine.Snapshot) int { return b.Start.Compare(a.Start) })
	return out
}

// log is what a controller reads of one mover: pages, some of which may be missing.
type log struct {
	room  int
	pages []work.Page
}

func (l *log) page(p work.Page) bool {
	b, err := work.EncodeEvent(work.Event{Type: work.EventPage, Page: &p})
	if err != nil || len(b) > l.room {
		return false
	}
	l.room -= len(b)
	l.pages = append(l.pages, p)
	return true
}

func TestCatalogNumbersItsPages(t *testing.T) {
	t.Parallel()
	var all []engine.Snapshot
	for n := range 1000 {
		all = append(all, snap(n))
	}
	l := &log{room: work.MaxStreamBytes}
	res, err := catalog(l.page, newest(all), "")
	require.NoError(t, err)
	assert.Empty(t, res.Next)
	assert.Equal(t, int64(1000), res.Entries)
	assert.Len(t, l.pages, res.Pages)
	n := 0
	for i, p := range l.pages {
		assert.Equal(t, i+1, p.Number)
		b, err := work.EncodeEvent(work.Event{Type: work.EventPage, Time: time.Now(), Page: &p})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(b), work.MaxPageBytes)
		for _, e := range p.Snapshots {
			assert.Equal(t, fmt.Sprintf("%032x", n), e.SnapshotID, "in the order in which they started")
			n++
		}
	}
	none, err := catalog(l.page, nil, "")
	require.NoError(t, err)
	assert.Equal(t, work.CatalogResult{}, *none, "an empty repository has no page")
}

// J-3: whatever the size, and whatever happens between two movers: a snapshot that is there all the time is named.
func TestCatalogNamesEverySnapshotThatStays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		live := map[int]engine.Snapshot{}
		stays := map[int]bool{}
		next := 0
		add := func(n int, stay bool) {
			for range n {
				one := snap(next)
				one.Start = snap(next / 3).Start // some start at the same instant
				live[next], stays[next] = one, stay
				next++
			}
		}
		add(rnd.IntN(400), true)
		seen := map[int64]bool{}
		var after work.Cursor
		for round := 0; ; round++ {
			require.Less(t, round, 2000, "seed %d: the list ends", seed)
			var all []engine.Snapshot
			for _, s := range live {
				all = append(all, s)
			}
			l := &log{room: work.MaxPageBytes*(1+rnd.IntN(3)) + rnd.IntN(work.MaxPageBytes)}
			res, err := catalog(l.page, newest(all), after)
			require.NoError(t, err, "seed %d", seed)
			// The log lost a page: what comes after the gap is worth nothing.
			arrived := l.pages
			if len(arrived) > 0 && rnd.IntN(4) == 0 {
				arrived = arrived[:rnd.IntN(len(arrived))]
			}
			for _, p := range arrived {
				for _, e := range p.Snapshots {
					seen[e.SizeBytes] = true
				}
				after = p.Cursor
			}
			if len(arrived) == res.Pages && res.Next == "" {
				break
			}
			// Meanwhile some are pinned, some are deleted, and new ones are taken.
			for n, s := range live {
				switch {
				case rnd.IntN(10) == 0:
					s.ID = fmt.Sprintf("%032x", rnd.Uint64())
					live[n] = s
				case rnd.IntN(20) == 0:
					delete(live, n)
					stays[n] = false
				}
			}
			add(rnd.IntN(5), false)
		}
		for n, stay := range stays {
			if stay {
				assert.True(t, seen[int64(n)], "seed %d: snapshot %d is missing", seed, n)
			}
		}
	}
}

func TestCatalogRefuses(t *testing.T) {
	t.Parallel()
	_, err := catalog(func(work.Page) bool { return true }, nil, "yesterday")
	require.ErrorIs(t, err, backend.ErrInvalidSpec)

	same := make([]engine.Snapshot, 500)
	for i := range same {
		same[i] = snap(0)
	}
	l := &log{room: 2 * work.MaxPageBytes}
	res, err := catalog(l.page, same, "")
	require.NoError(t, err)
	l.room = 2 * work.MaxPageBytes
	_, err = catalog(l.page, same, res.Next)
	require.ErrorIs(t, err, errNoProgress, "rather than for ever")
}

func TestCatalogEntriesAreBounded(t *testing.T) {
	t.Parallel()
	s := snap(1)
	s.Description = strings.Repeat("ä", 5000)
	s.Tags = map[string]string{work.TagConfig: "config:web", "note": "short"}
	e, _, err := entry(s)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(e.Description), work.MaxDescriptionBytes)
	assert.Equal(t, s.Tags, e.Tags)

	s.Tags["note"] = strings.Repeat("x", 1<<20)
	e, n, err := entry(s)
	require.NoError(t, err)
	assert.Less(t, n, work.MaxPageBytes)
	assert.Equal(t, map[string]string{work.TagConfig: "config:web"}, e.Tags, "what Kopiur reads is kept")
	b, err := json.Marshal(e)
	require.NoError(t, err)
	assert.Len(t, b, n-1)
}
