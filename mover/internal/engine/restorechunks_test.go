// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inSmallChunks is a repository that cuts files into many chunks.
func inSmallChunks(t *testing.T, s Storage) (Connection, *Repository) {
	t.Helper()
	c := connection(t, s)
	require.NoError(t, Create(testContext(t), c, CreateOptions{Splitter: "DYNAMIC-128K-BUZHASH"}))
	r, err := Open(testContext(t), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return c, r
}

func TestALargeFileComesBackInAnyNumberOfPlacesAtATime(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	sparseFileOf(t, filepath.Join(src, "image"), []extent{
		{n: 500_000, seed: 1}, {hole: true, n: 6_000_001}, {n: 1_000_000, seed: 2}, {n: 500_000, seed: 1}, {hole: true, n: 3_000_000},
	})
	sparseFileOf(t, filepath.Join(src, "zeros"), []extent{{hole: true, n: 2_000_000}})
	sparseFileOf(t, filepath.Join(src, "other"), []extent{{n: 3_333_333, seed: 3}})
	_, r := inSmallChunks(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	for _, parallel := range []int{1, 2, 5} {
		for _, o := range []Restore{{}, {Sparse: true}, {InPlace: true}, {InPlace: true, Sparse: true}} {
			dst := t.TempDir()
			if o.InPlace {
				writeFile(t, filepath.Join(dst, "image"), strings.Repeat("what was there before", 1_000_000), 0o644)
			}
			o.Target, o.Parallel, o.Progress = dst, parallel, &Counters{}
			out, err := r.Restore(ctx, up.Snapshot, o)
			require.NoError(t, err)
			assertSameBytes(t, src, dst)
			assert.Equal(t, up.Snapshot.Size, out.Bytes)
			assert.Equal(t, up.Snapshot.Size, o.Progress.Bytes.Load())
			st, err := os.Stat(filepath.Join(dst, "zeros"))
			require.NoError(t, err)
			own, ok := st.Sys().(*syscall.Stat_t)
			require.True(t, ok)
			assert.Equal(t, o.Sparse, own.Blocks*statBlock < 1_000_000, "holes are made where they are wanted, and nowhere else")
		}
	}
}

// The store is asked for as many chunks of one file as there are workers, and for no more: it answers none before all
// of them have come.
func TestOneLargeFileKeepsAllWorkersBusy(t *testing.T) {
	t.Parallel()
	const parallel = 3
	var (
		mu         sync.Mutex
		gather     bool
		here, most int
	)
	full := make(chan struct{})
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			waits := gather && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/apps/p")
			if waits {
				here++
				most = max(most, here)
				if here == parallel && most == parallel {
					select {
					case <-full:
					default:
						close(full)
					}
				}
			}
			mu.Unlock()
			if waits {
				select {
				case <-full:
				case <-r.Context().Done():
				}
			}
			h.ServeHTTP(w, r)
			if waits {
				mu.Lock()
				here--
				mu.Unlock()
			}
		})
	})
	src := t.TempDir()
	sparseFileOf(t, filepath.Join(src, "image"), []extent{{n: 4_000_000, seed: 1}})
	_, r := inSmallChunks(t, Storage{S3: &s})
	up, err := r.Upload(testContext(t), uploadOf(src))
	require.NoError(t, err)
	mu.Lock()
	gather = true
	mu.Unlock()
	dst := t.TempDir()
	_, err = r.Restore(testContext(t), up.Snapshot, Restore{Target: dst, Parallel: parallel, Progress: &Counters{}})
	require.NoError(t, err)
	assertSameBytes(t, src, dst)
	assert.Equal(t, parallel, most)
}

// A list of chunks that does not add up, or names one that is not as long, is damage: nothing of the file is left.
func TestAListOfChunksThatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := inSmallChunks(t, folder(t))
	src := t.TempDir()
	sparseFileOf(t, filepath.Join(src, "image"), []extent{{n: 1_000_000, seed: 1}})
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	root, err := r.readDir(ctx, up.Snapshot.manifest.RootEntry)
	require.NoError(t, err)
	good, err := r.chunks(ctx, root[0])
	require.NoError(t, err)
	require.Greater(t, len(good.entries), 2)

	for name, change := range map[string]func(*[]object.IndirectObjectEntry, *string){
		"a gap":                    func(l *[]object.IndirectObjectEntry, _ *string) { *l = append((*l)[:1], (*l)[2:]...) },
		"an end that is missing":   func(l *[]object.IndirectObjectEntry, _ *string) { *l = (*l)[:len(*l)-1] },
		"nothing":                  func(l *[]object.IndirectObjectEntry, _ *string) { *l = nil },
		"a negative length":        func(l *[]object.IndirectObjectEntry, _ *string) { (*l)[0].Length = -1 },
		"another format":           func(_ *[]object.IndirectObjectEntry, f *string) { *f = "kopia:other" },
		"another chunk":            func(l *[]object.IndirectObjectEntry, _ *string) { (*l)[0].Object = (*l)[1].Object },
		"the others in its places": func(l *[]object.IndirectObjectEntry, _ *string) { (*l)[1].Object = (*l)[0].Object },
	} {
		entries, format := append([]object.IndirectObjectEntry(nil), good.entries...), indirectStream
		change(&entries, &format)
		e := *root[0]
		require.NoError(t, repo.WriteSession(ctx, r.rep, repo.WriteSessionOptions{}, func(ctx context.Context, w repo.RepositoryWriter) error {
			ow := w.NewObjectWriter(ctx, object.WriterOptions{Prefix: indirectPrefix, MetadataCompressor: metadataCompressor})
			defer ow.Close()
			if err := json.NewEncoder(ow).Encode(map[string]any{"stream": format, "entries": entries}); err != nil {
				return err
			}
			id, err := ow.Result()
			if err == nil {
				e.ObjectID, err = object.ParseID("I" + id.String())
			}
			return err
		}))
		m := up.Snapshot.manifest.Clone()
		m.RootEntry = &e
		dst := t.TempDir()
		_, err := r.Restore(ctx, snapshotOf(m), Restore{Target: dst, Parallel: 2, Progress: &Counters{}})
		require.ErrorIs(t, err, ErrDamaged, name)
		left, err := os.ReadDir(dst)
		require.NoError(t, err)
		assert.Empty(t, left, name)
	}
}
