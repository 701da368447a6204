// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
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

// turnstile stands before a store and lets nobody through before want are there.
type turnstile struct {
	want int
	full chan struct{}

	mu         sync.Mutex
	on         bool
	here, most int
}

func (g *turnstile) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/apps/p") && g.enter() {
			defer g.leave()
			select {
			case <-g.full:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}

func (g *turnstile) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.on {
		return false
	}
	g.here++
	if g.here > g.most {
		if g.most = g.here; g.most == g.want {
			close(g.full)
		}
	}
	return true
}

func (g *turnstile) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here--
}

// The store is asked for as many pieces at a time as there may be, and for no more: it answers none before all of them
// have come.
func TestAllWorkersAreBusy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files, size     int
		parallel, small int
		want            int
	}{
		"one large file keeps all workers busy":                      {files: 1, size: 4_000_000, parallel: 3, want: 3},
		"large files are not more at a time for what small ones may": {files: 3, size: 4_000_000, parallel: 2, small: 6, want: 2},
		"small files may be more at a time":                          {files: 30, size: 1000, parallel: 2, small: 6, want: 6},
		"small files are not fewer than others":                      {files: 30, size: 1000, parallel: 4, small: 2, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := &turnstile{want: tc.want, full: make(chan struct{})}
			s, _ := s3Server(t, false, gate.wrap)
			src := t.TempDir()
			for i := range tc.files {
				sparseFileOf(t, filepath.Join(src, fmt.Sprint("f", i)), []extent{{n: tc.size, seed: i}})
			}
			_, r := inSmallChunks(t, Storage{S3: &s})
			assert.True(t, r.IsRemote())
			up, err := r.Upload(testContext(t), uploadOf(src))
			require.NoError(t, err)
			gate.mu.Lock()
			gate.on = true
			gate.mu.Unlock()
			dst := t.TempDir()
			_, err = r.Restore(testContext(t), up.Snapshot, Restore{Target: dst, Parallel: tc.parallel, Small: tc.small, Progress: &Counters{}})
			require.NoError(t, err)
			assertSameBytes(t, src, dst)
			assert.Equal(t, tc.want, gate.most)
		})
	}
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
