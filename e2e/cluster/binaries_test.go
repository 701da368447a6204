// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	writeFile(t, filepath.Join(source, "m/go.mod"), "module m\n")
	writeFile(t, filepath.Join(source, "m/cmd/main.go"), "package main\n")
	a := artifact{name: "a", inputs: []string{"m/go.mod", "m/cmd"}, settings: []string{"-s"}}
	key := func(a artifact, version string) string {
		k, err := cacheKey(source, a, version)
		require.NoError(t, err)
		return k
	}
	base := key(a, "go1")
	assert.Equal(t, base, key(a, "go1"), "the same inputs give the same key")
	assert.NotEqual(t, base, key(a, "go2"), "another Go gives another key")
	other := a
	other.settings = []string{"-w"}
	assert.NotEqual(t, base, key(other, "go1"), "other flags give another key")

	writeFile(t, filepath.Join(source, "m/cmd/main_test.go"), "package main\n")
	assert.Equal(t, base, key(a, "go1"), "a test changes no binary")
	writeFile(t, filepath.Join(source, "m/cmd/more.go"), "package main\n")
	assert.NotEqual(t, base, key(a, "go1"), "a new file gives another key")

	a.inputs = []string{"m/none"}
	_, err := cacheKey(source, a, "go1")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func testBuilder(t *testing.T) *builder {
	t.Helper()
	return &builder{source: t.TempDir(), cache: t.TempDir(), goVersion: "go1", progress: &bytes.Buffer{}}
}

func TestTwoCallersBuildOnce(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	b.progress = &discard{}
	var builds atomic.Int32
	a := artifact{name: "a", build: func(_ context.Context, into string) error {
		builds.Add(1)
		time.Sleep(50 * time.Millisecond)
		return os.WriteFile(filepath.Join(into, "program"), nil, 0o600)
	}}
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			folder, err := b.ensure(t.Context(), a)
			if assert.NoError(t, err) {
				assert.FileExists(t, filepath.Join(folder, "program"))
			}
		})
	}
	callers.Wait()
	assert.EqualValues(t, 1, builds.Load())
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	broken := errors.New("does not compile")
	_, err := b.ensure(t.Context(), artifact{name: "a", build: func(context.Context, string) error { return broken }})
	require.ErrorIs(t, err, broken)
	left, err := filepath.Glob(filepath.Join(b.cache, "a-draft-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestPruneKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	old := time.Now().Add(-2 * unusedFor)
	for _, name := range []string{"a-old", "a-recent", "b-old"} {
		writeFile(t, filepath.Join(b.cache, name, "program"), "")
	}
	require.NoError(t, os.Chtimes(filepath.Join(b.cache, "a-old"), old, old))
	require.NoError(t, os.Chtimes(filepath.Join(b.cache, "b-old"), old, old))
	require.NoError(t, b.prune("a"))
	assert.NoDirExists(t, filepath.Join(b.cache, "a-old"))
	assert.DirExists(t, filepath.Join(b.cache, "a-recent"))
	assert.DirExists(t, filepath.Join(b.cache, "b-old"), "another artifact's")
}

func TestModuleVersions(t *testing.T) {
	t.Parallel()
	versions := moduleVersions([]byte("module m\n\ngo 1.26.0\n\nrequire a.test/one v1.2.3\n\nrequire (\n\tb.test/two/v2 v2.0.0 // indirect\n)\n\nreplace c.test/x => c.test/x v9.9.9\n"))
	assert.Equal(t, map[string]string{"a.test/one": "v1.2.3", "b.test/two/v2": "v2.0.0"}, versions)
}

// The flags are made of versions; a module that is renamed would leave them empty without an error.
func TestEveryModuleOfTheClusterHasAVersion(t *testing.T) {
	t.Parallel()
	source, err := findSource(".")
	require.NoError(t, err)
	versions, err := (&builder{source: source}).versions()
	require.NoError(t, err)
	for _, module := range []string{moduleKubernetes, moduleEtcd, moduleContainerd, moduleCoreDNS, moduleSnapshotter, moduleProvisioner, moduleSnapshotAPI} {
		assert.NotEmpty(t, versions[module], module)
	}
	assert.Contains(t, ldflags(versions), "-X k8s.io/component-base/version.gitVersion="+versions[moduleKubernetes])
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
