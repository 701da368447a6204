// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lostBytes = 16 << 20

// abandoned is a repository with one snapshot in use, and one of lostBytes that was deleted an hour ago.
func abandoned(t *testing.T) (Connection, *ages) {
	t.Helper()
	c, a := inTime(t)
	src := t.TempDir()
	with(t, c, func(r *Repository) {
		ctx := testContext(t)
		writeFile(t, filepath.Join(src, "kept"), "content", 0o644)
		_, err := r.Upload(ctx, uploadOf(src))
		require.NoError(t, err)
	})
	a.pass(time.Hour)
	with(t, c, func(r *Repository) {
		ctx := testContext(t)
		b := make([]byte, lostBytes)
		_, _ = rand.NewChaCha8([32]byte{9}).Read(b)
		require.NoError(t, os.WriteFile(filepath.Join(src, "lost"), b, 0o600))
		u := uploadOf(src)
		up, err := r.Upload(ctx, u)
		require.NoError(t, err)
		out, err := r.Delete(ctx, ctx, []Key{{ID: up.Snapshot.ID, Identity: webData, Start: up.Snapshot.Start}})
		require.NoError(t, err)
		require.True(t, out[0].Deleted)
	})
	a.pass(time.Hour)
	return c, a
}

func maintain(t *testing.T, c Connection, m Maintenance) (out Maintained, err error) {
	t.Helper()
	with(t, c, func(r *Repository) { out, err = r.Maintain(testContext(t), m) })
	return out, err
}

// The forecast is kopia's own behaviour: what it promises is when the space comes back, whatever the interval.
func TestSpaceComesBackWhenItWasForecast(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"every six hours": 6 * time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, a := abandoned(t)
			promised := map[time.Time]bool{}
			stages := map[ReclaimStage]bool{}
			for n := 0; ; n++ {
				require.Less(t, n, 20)
				start := a.clock().Truncate(time.Minute)
				out, err := maintain(t, c, Maintenance{Full: true, Interval: interval, Parallel: 2})
				require.NoError(t, err)
				if out.RemovedBytes >= lostBytes {
					assert.Positive(t, n)
					assert.Equal(t, map[time.Time]bool{start: true}, promised, "every maintenance before promised this one")
					assert.Less(t, out.Waiting.Bytes, int64(lostBytes), "and nothing of it is left to wait for")
					break
				}
				require.GreaterOrEqual(t, out.Waiting.Bytes, int64(lostBytes), "what is lost is on its way in some stage")
				stages[out.Waiting.Stage] = true
				promised[out.Waiting.At.Truncate(time.Minute)] = true
				a.pass(interval)
			}
			assert.True(t, stages[ReclaimYoung] && stages[ReclaimMarked], "%v", stages)
			with(t, c, func(r *Repository) {
				all, err := r.List(testContext(t), webData)
				require.NoError(t, err)
				require.Len(t, all, 1)
				assert.Equal(t, []string{"kept"}, stored(t, r, all[0]), "what is in use stays")
			})
		})
	}
}

// Dead data beside live data in one blob comes back only when it is rewritten, which takes more such blobs.
func TestSpaceInSharedBlobsIsExplained(t *testing.T) {
	t.Parallel()
	c, a := inTime(t)
	src := t.TempDir()
	b := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(b)
	require.NoError(t, os.WriteFile(filepath.Join(src, "lost"), b, 0o600))
	writeFile(t, filepath.Join(src, "kept"), "content", 0o644)
	with(t, c, func(r *Repository) {
		ctx := testContext(t)
		first, err := r.Upload(ctx, uploadOf(src))
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(src, "lost")))
		_, err = r.Upload(ctx, uploadOf(src))
		require.NoError(t, err)
		_, err = r.Delete(ctx, ctx, []Key{{ID: first.Snapshot.ID, Identity: webData, Start: first.Snapshot.Start}})
		require.NoError(t, err)
	})
	var out Maintained
	for range 8 {
		a.pass(24 * time.Hour)
		var err error
		out, err = maintain(t, c, Maintenance{Full: true, Parallel: 2})
		require.NoError(t, err)
	}
	assert.Equal(t, ReclaimShared, out.Waiting.Stage)
	assert.GreaterOrEqual(t, out.Waiting.Bytes, int64(len(b)))
	assert.Zero(t, out.Waiting.At, "nobody knows when")
}

func TestQuickMaintenance(t *testing.T) {
	t.Parallel()
	c, a := abandoned(t)
	before := a.clock()
	out, err := maintain(t, c, Maintenance{Parallel: 2})
	require.NoError(t, err)
	assert.Equal(t, MaintenanceOwner{Owner: "kopiur@kopiur-test"}, out.Owner)
	assert.Zero(t, out.RemovedBlobs)
	assert.Equal(t, Waiting{}, out.Waiting, "a quick one looks for no garbage")
	assert.True(t, out.NextQuick.After(before))
	assert.Positive(t, out.IndexBlobCount)
	assert.Positive(t, out.IndexBlobBytes)
	require.NotNil(t, out.Epoch, "C-11")
}

// C-8, C-11: maintenance is what advances epochs and keeps the number of index blobs small.
func TestMaintenanceAdvancesEpochs(t *testing.T) {
	t.Parallel()
	c, a := inTime(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "content", 0o644)
	var most int64
	for range 6 {
		for range 15 {
			with(t, c, func(r *Repository) {
				_, err := r.Upload(testContext(t), uploadOf(src))
				require.NoError(t, err)
			})
			a.pass(2 * time.Hour)
		}
		out, err := maintain(t, c, Maintenance{Full: true, Parallel: 2})
		require.NoError(t, err)
		most = max(most, out.IndexBlobCount)
		if *out.Epoch >= 2 {
			assert.Less(t, most, int64(90), "not one for each of the writes")
			return
		}
	}
	t.Fatal("no epoch advanced")
}

func TestMaintainRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(t *testing.T, c *Connection, a *ages)
		m       Maintenance
		want    error
		says    string
	}{
		// K-6
		"what belongs to somebody else": {func(_ *testing.T, c *Connection, _ *ages) { c.Hostname = "other" }, Maintenance{}, ErrForeignOwner, "kopiur@kopiur-test"},
		"to collect garbage while a snapshot cannot be decoded": {func(t *testing.T, c *Connection, _ *ages) {
			t.Helper()
			with(t, *c, func(r *Repository) { broken(t, r, webData) })
		}, Maintenance{Full: true}, ErrUndecodable, "1 of them"},
		"to collect garbage while a snapshot has no content": {func(t *testing.T, c *Connection, _ *ages) {
			t.Helper()
			with(t, *c, func(r *Repository) { saved(t, r, webData, nil, hours(1)...) })
		}, Maintenance{Full: true}, ErrUndecodable, "1 of them"},
		"by a clock that is ahead": {func(_ *testing.T, c *Connection, a *ages) {
			c.Clock = func() time.Time { return a.clock().Add(10 * time.Minute) }
		}, Maintenance{}, ErrClockSkew, "10 minutes ahead of the store's: 2026-03-05 02:10Z here, 2026-03-05 02:00Z there"},
		"by a clock that is behind": {func(_ *testing.T, c *Connection, a *ages) {
			c.Clock = func() time.Time { return a.clock().Add(-10 * time.Minute) }
		}, Maintenance{Full: true}, ErrClockSkew, "10 minutes behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, a := abandoned(t)
			tc.arrange(t, &c, a)
			before := readTree(t, c)
			_, err := maintain(t, c, tc.m)
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, before, readTree(t, c), "nothing is removed")
		})
	}
}

// readTree are the blobs that a maintenance might remove or replace.
func readTree(t *testing.T, c Connection) map[string]int64 {
	t.Helper()
	out := tree(t, c.Storage.Filesystem.Path)
	for p := range out {
		if strings.Contains(filepath.Base(p), "maintenance") || strings.HasSuffix(filepath.Dir(p), "kop") || filepath.Base(p) == ".shards" {
			delete(out, p)
		}
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			delete(out, p)
		}
	}
	return out
}

func TestAMaintenanceThatDidNothingIsAnError(t *testing.T) {
	t.Parallel()
	c, _ := abandoned(t)
	with(t, c, func(r *Repository) {
		// As a second process with the same connection file would.
		f, err := os.OpenFile(r.config+".mlock", os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		_, err = r.Maintain(testContext(t), Maintenance{})
		require.ErrorIs(t, err, ErrNothingRan)
		require.NoError(t, f.Close())
		_, err = r.Maintain(testContext(t), Maintenance{})
		require.NoError(t, err)
	})
}

// C-7: a takeover keeps what kopia has stored about maintenance.
func TestMaintainTakesOver(t *testing.T) {
	t.Parallel()
	c, _ := abandoned(t)
	c.Hostname = "new"
	out, err := maintain(t, c, Maintenance{Own: OwnerRule{Aliases: []string{"kopiur@kopiur-test"}}})
	require.NoError(t, err)
	assert.Equal(t, MaintenanceOwner{Owner: "kopiur@new", Previous: "kopiur@kopiur-test"}, out.Owner)
}
