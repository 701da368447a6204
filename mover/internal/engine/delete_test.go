// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/manifest"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saved stores manifests without content, one per start time, and returns their keys.
func saved(tb testing.TB, r *Repository, id Identity, change func(*snapshot.Manifest), starts ...time.Time) []Key {
	tb.Helper()
	var out []Key
	ctx := testContext(tb)
	require.NoError(tb, r.write(ctx, "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		for _, start := range starts {
			m := &snapshot.Manifest{Source: id.source(), StartTime: fs.UTCTimestampFromTime(start), EndTime: fs.UTCTimestampFromTime(start)}
			if change != nil {
				change(m)
			}
			mid, err := snapshot.SaveSnapshot(ctx, w, m)
			if err != nil {
				return err
			}
			out = append(out, Key{ID: string(mid), Identity: id, Start: start.Truncate(time.Second)})
		}
		return nil
	}))
	return out
}

// hours are n moments that are hours apart.
func hours(n int) []time.Time {
	out := make([]time.Time, n)
	for i := range out {
		out[i] = time.Date(2026, 3, 5, 0, 0, 0, 123456789, time.UTC).Add(time.Duration(i) * time.Hour)
	}
	return out
}

// ids lists the ids of all snapshots of an identity through a connection of its own.
func ids(t *testing.T, c Connection, id Identity) []string {
	t.Helper()
	ctx := testContext(t)
	c.WorkDir = t.TempDir()
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(ctx)) }()
	all, err := r.List(ctx, id)
	require.NoError(t, err)
	out := []string{}
	for _, s := range all {
		out = append(out, s.ID)
	}
	return out
}

// B-5.
func TestDeleteRemovesExactlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	const gone = "00000000000000000000000000000000"
	other := Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"}
	for name, tc := range map[string]struct {
		// change makes a key out of that of the first of three snapshots.
		change  func(t *testing.T, r *Repository, k *Key)
		deleted bool
		gone    bool
	}{
		"by its id":                             {change: func(*testing.T, *Repository, *Key) {}, deleted: true},
		"by its id, where no start is recorded": {change: func(_ *testing.T, _ *Repository, k *Key) { k.Start = time.Time{} }, deleted: true},
		"by identity and start, when the id is gone because it was pinned": {change: func(_ *testing.T, _ *Repository, k *Key) { k.ID = gone }, deleted: true},
		"by identity and start, without an id":                             {change: func(_ *testing.T, _ *Repository, k *Key) { k.ID = "" }, deleted: true},
		"nothing, when the id is gone and the start was never recorded": {change: func(_ *testing.T, _ *Repository, k *Key) {
			k.ID, k.Start = gone, time.Time{}
		}, gone: true},
		"nothing, when neither is there": {change: func(_ *testing.T, _ *Repository, k *Key) {
			k.ID, k.Start = gone, k.Start.Add(time.Minute)
		}, gone: true},
		"nothing, when the identity has no such start": {change: func(_ *testing.T, _ *Repository, k *Key) { k.ID, k.Identity = gone, other }, gone: true},
		"never what has the id and another identity":   {change: func(_ *testing.T, _ *Repository, k *Key) { k.Identity = other }},
		"never what has the id and another start":      {change: func(_ *testing.T, _ *Repository, k *Key) { k.Start = k.Start.Add(time.Minute) }},
		"never one of two that started in the same second": {change: func(t *testing.T, r *Repository, k *Key) {
			t.Helper()
			saved(t, r, webData, nil, k.Start.Add(time.Millisecond))
			k.ID = gone
		}},
		"never what has the id and is no snapshot": {change: func(t *testing.T, r *Repository, k *Key) {
			t.Helper()
			require.NoError(t, r.write(testContext(t), "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
				return policy.SetPolicy(ctx, w, webData.source(), &policy.Policy{})
			}))
			found, err := r.rep.FindManifests(testContext(t), map[string]string{manifest.TypeLabelKey: policy.ManifestType, "path": webData.Path})
			require.NoError(t, err)
			k.ID, k.Start = string(found[0].ID), time.Time{}
		}},
		// D-3
		"nothing for an incomplete one, which nobody ever asks for by its start": {change: func(t *testing.T, r *Repository, k *Key) {
			t.Helper()
			saved(t, r, webData, func(m *snapshot.Manifest) { m.IncompleteReason = "checkpoint" }, k.Start.Add(time.Hour/2))
			k.ID, k.Start = "", k.Start.Add(time.Hour/2)
		}, gone: true},
		"never, while a manifest that cannot be decoded may be the one": {change: func(t *testing.T, r *Repository, k *Key) {
			t.Helper()
			broken(t, r, webData)
			k.ID, k.Start = gone, k.Start.Add(time.Minute)
		}},
		"what cannot be decoded, by its id": {change: func(t *testing.T, r *Repository, k *Key) {
			t.Helper()
			k.ID = broken(t, r, webData)
		}, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			_, r := created(t, folder(t))
			keys := saved(t, r, webData, nil, hours(3)...)
			k := keys[0]
			tc.change(t, r, &k)
			count := func() int {
				all, err := snapshot.ListSnapshotManifests(ctx, r.rep, nil, nil)
				require.NoError(t, err)
				policies, err := r.rep.FindManifests(ctx, map[string]string{manifest.TypeLabelKey: policy.ManifestType})
				require.NoError(t, err)
				return len(all) + len(policies)
			}
			before := count()
			out, err := r.Delete(ctx, ctx, []Key{k})
			require.NoError(t, err)
			require.Len(t, out, 1)
			assert.Equal(t, tc.deleted, out[0].Deleted)
			assert.Equal(t, tc.gone, out[0].Gone)
			if !tc.deleted && !tc.gone {
				require.ErrorIs(t, out[0].Err, ErrMismatch)
			}
			if tc.deleted {
				before--
			}
			assert.Equal(t, before, count(), "nothing else is deleted")
			out, err = r.Delete(ctx, ctx, keys[1:])
			require.NoError(t, err)
			assert.Equal(t, []Deletion{{Deleted: true}, {Deleted: true}}, out, "the others are where they were")
		})
	}
}

// broken stores a snapshot whose manifest cannot be decoded, as damage or a newer kopia may leave it.
func broken(t *testing.T, r *Repository, id Identity) string {
	t.Helper()
	var out manifest.ID
	require.NoError(t, r.write(testContext(t), "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		var err error
		out, err = w.PutManifest(ctx, map[string]string{
			manifest.TypeLabelKey: snapshot.ManifestType, "username": id.Username, "hostname": id.Hostname, "path": id.Path,
		}, map[string]any{"startTime": 1, "rootEntry": "nonsense"})
		return err
	}))
	return string(out)
}

// D-2: one batch is one write. What is kept does not hold up the rest.
func TestDeleteBatch(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r := created(t, folder(t))
	keys := saved(t, r, webData, nil, hours(50)...)
	keep := saved(t, r, Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"}, nil, hours(3)...)
	wrong := keys[7]
	wrong.Identity = keep[0].Identity
	wrong.Start = wrong.Start.Add(time.Minute)
	batch := append(append([]Key{}, keys[:7]...), wrong, keys[3])
	out, err := r.Delete(ctx, ctx, batch)
	require.NoError(t, err)
	for i, d := range out {
		assert.Equal(t, i != 7, d.Deleted, batch[i])
	}
	assert.Len(t, ids(t, c, webData), 43)
	assert.Len(t, ids(t, c, keep[0].Identity), 3)
	require.NoError(t, r.rep.Refresh(ctx))
	out, err = r.Delete(ctx, ctx, keys)
	require.NoError(t, err)
	for i, d := range out {
		assert.Equal(t, i < 7, d.Gone, "asked again, what went is gone")
		assert.Equal(t, i >= 7, d.Deleted)
	}
	assert.Empty(t, ids(t, c, webData))
}

func TestDeleteEndsBeforeItWrites(t *testing.T) {
	t.Parallel()
	c, r := created(t, folder(t))
	keys := saved(t, r, webData, nil, hours(3)...)
	look, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Delete(testContext(t), look, keys)
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, ids(t, c, webData), 3)
}

// D-11: under object lock a store refuses to delete blobs; the manifests are gone all the same, and a retry says so.
func TestDeleteUnderObjectLock(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var refuse atomic.Bool
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && refuse.Load() {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>Access Denied because object protected by object lock.</Message></Error>`))
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	c, r := created(t, Storage{S3: &s})
	keys := saved(t, r, webData, nil, hours(3)...)
	refuse.Store(true)
	_, err := r.Delete(ctx, ctx, keys)
	var answer minio.ErrorResponse
	require.ErrorAs(t, err, &answer)
	assert.False(t, r.LocksBlobs(ctx), "this repository does not; op/delete then calls it what it is")

	refuse.Store(false)
	c.WorkDir = t.TempDir()
	again, err := Open(ctx, c)
	require.NoError(t, err)
	out, err := again.Delete(ctx, ctx, keys)
	require.NoError(t, err)
	for _, d := range out {
		assert.True(t, d.Gone || d.Deleted)
	}
	require.NoError(t, again.Close(ctx))
	assert.Empty(t, ids(t, c, webData))
}

func TestLocateSaysWhatItLookedFor(t *testing.T) {
	t.Parallel()
	_, r := created(t, folder(t))
	_, err := r.Locate(testContext(t), Key{ID: strings.Repeat("0", 32), Identity: webData, Start: hours(1)[0]})
	require.ErrorIs(t, err, ErrSnapshotNotFound)
	require.ErrorContains(t, err, fmt.Sprintf("(%s at 2026-03-05T00:00:00Z)", webData))
}
