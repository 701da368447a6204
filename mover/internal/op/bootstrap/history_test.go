// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/kopia/kopia/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// TestAHistoryOfOthersIsListedWhole: thousands of manifests that kopia itself has written, under the names of several
// machines, some incomplete, some pinned, some of one second. Each complete one is named once, whatever number of movers
// it takes, and no other (J-3, D-3).
func TestAHistoryOfOthersIsListedWhole(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	c := engine.Connection{
		Storage: engine.Storage{Filesystem: &engine.Filesystem{Path: dir}}, Password: "correct horse", Username: "kopiur", Hostname: "kopiur-test",
		WorkDir: t.TempDir(), Clock: time.Now,
	}
	require.NoError(t, engine.Create(ctx, c, engine.CreateOptions{}))
	want := writtenByKopia(ctx, t, dir, c.Password, 2500)

	r, err := engine.Open(ctx, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.WithoutCancel(ctx))) }()
	st, err := r.Stats(ctx)
	require.NoError(t, err)
	got := map[string]work.CatalogEntry{}
	var after work.Cursor
	movers := 0
	for more := true; more; movers++ {
		l := &log{room: 200 << 10}
		res, err := catalog(l.page, st.Complete, after)
		require.NoError(t, err)
		for _, p := range l.pages {
			for _, e := range p.Snapshots {
				got[e.SnapshotID] = e
			}
		}
		after, more = res.Next, res.Next != ""
	}
	assert.Greater(t, movers, 2)
	assert.Len(t, got, len(want))
	for id, m := range want {
		e, ok := got[id]
		if !assert.True(t, ok, "%s of %s is missing", id, m.Source) {
			continue
		}
		assert.Equal(t, work.Identity{Username: m.Source.UserName, Hostname: m.Source.Host, Path: m.Source.Path}, e.Identity)
		assert.True(t, m.StartTime.ToTime().Equal(e.StartTime), "to the last digit: two may start in one second")
		assert.Equal(t, len(m.Pins) > 0, e.Pinned)
	}
}

// writtenByKopia stores n manifests with kopia's own connection, and returns the complete ones.
func writtenByKopia(ctx context.Context, t *testing.T, dir, password string, n int) map[string]*snapshot.Manifest {
	t.Helper()
	store, err := filesystem.New(ctx, &filesystem.Options{Path: dir}, false)
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "repository.config")
	require.NoError(t, repo.Connect(ctx, config, store, password, nil))
	rep, err := repo.Open(ctx, config, password, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, rep.Close(context.WithoutCancel(ctx))) }()
	begin := time.Date(2025, 3, 5, 2, 0, 0, 0, time.UTC)
	complete := map[string]*snapshot.Manifest{}
	require.NoError(t, repo.WriteSession(ctx, rep, repo.WriteSessionOptions{Purpose: "test"}, func(ctx context.Context, w repo.RepositoryWriter) error {
		for i := range n {
			at := begin.Add(time.Duration(i) * 400 * time.Millisecond)
			m := &snapshot.Manifest{
				Source:    snapshot.SourceInfo{UserName: fmt.Sprint("user", i%3), Host: []string{"laptop", "nas.example.org", "Größe"}[i%3], Path: []string{"/", `C:\Users\a`, "/data"}[i%3]},
				StartTime: fs.UTCTimestampFromTime(at), EndTime: fs.UTCTimestampFromTime(at.Add(time.Second)),
			}
			if i%10 == 3 {
				m.IncompleteReason = "checkpoint"
			}
			if i%50 == 7 {
				m.Pins = []string{"keep"}
			}
			id, err := snapshot.SaveSnapshot(ctx, w, m)
			if err != nil {
				return err
			}
			if m.IncompleteReason == "" {
				complete[string(id)] = m
			}
		}
		return nil
	}))
	return complete
}
