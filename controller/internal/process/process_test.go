// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{"KOPIUR_MOVER_IMAGE": "mover:1", "KOPIUR_NAMESPACE": "kopiur-system"}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args    []string
		env     func(string) string
		check   func(*testing.T, Options)
		wantErr string
	}{
		"defaults": {env: env(), check: func(t *testing.T, o Options) {
			t.Helper()
			assert.Equal(t, ":8081", o.HTTPAddr)
			assert.Equal(t, 8, o.ReconcileConcurrency)
			assert.Equal(t, 2, o.WorkerThreads)
			assert.True(t, o.LeaderElect)
			assert.Empty(t, o.WatchNamespaces)
			assert.Equal(t, 15*time.Second, o.Leader.LeaseDuration)
		}},
		"the flag wins over the variable": {
			args: []string{"--reconcile-concurrency=3", "--leader-elect=false"},
			env:  env("KOPIUR_RECONCILE_CONCURRENCY", "5", "KOPIUR_LEADER_ELECT", "true"),
			check: func(t *testing.T, o Options) {
				t.Helper()
				assert.Equal(t, 3, o.ReconcileConcurrency)
				assert.False(t, o.LeaderElect)
			},
		},
		"some namespaces and no others": {args: []string{"--watch-namespaces=shop, blog,"}, env: env(), check: func(t *testing.T, o Options) {
			t.Helper()
			assert.Equal(t, []string{"shop", "blog"}, o.WatchNamespaces)
		}},
		"variables of an older operator are told": {
			env: env("KOPIUR_MOVER_CLUSTERROLE", "x"),
			check: func(t *testing.T, o Options) {
				t.Helper()
				assert.Equal(t, []string{"KOPIUR_MOVER_CLUSTERROLE"}, o.Ignored)
			},
		},
		"no mover image":                 {env: func(string) string { return "" }, wantErr: "--mover-image (or KOPIUR_MOVER_IMAGE) is not set"},
		"a number that is none":          {env: env("KOPIUR_WORKER_THREADS", "two"), wantErr: "is not a number"},
		"a log format that is none":      {env: env("KOPIUR_LOG_FORMAT", "xml"), wantErr: "must be text or json"},
		"timings that would split brain": {args: []string{"--renew-deadline=14s"}, env: env(), wantErr: "shorter than the lease"},
		"an argument too many":           {args: []string{"run"}, env: env(), wantErr: "unexpected argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := Parse(tc.args, tc.env, io.Discard)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			tc.check(t, o)
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		fs   fstest.MapFS
		want int64
	}{
		"no cgroups":                {fstest.MapFS{}, 256 * mib},
		"version 2 without a limit": {fstest.MapFS{"sys/fs/cgroup/memory.max": file("max\n")}, 256 * mib},
		"version 2 in a container":  {fstest.MapFS{"sys/fs/cgroup/memory.max": file("104857600\n")}, 80 * mib},
		"version 1 without a limit": {fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 256 * mib},
		"version 1":                 {fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": file("104857600\n")}, 80 * mib},
		"version 2 seen from the host, limited by the parent": {fstest.MapFS{
			"proc/self/cgroup":                          file("0::/kubepods/pod1/c1\n"),
			"sys/fs/cgroup/kubepods/pod1/c1/memory.max": file("max\n"),
			"sys/fs/cgroup/kubepods/pod1/memory.max":    file("104857600\n"),
		}, 80 * mib},
		"version 1 seen from the host": {fstest.MapFS{
			"proc/self/cgroup": file("4:cpu,memory:/a\n2:pids:/a\n"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("104857600\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712\n"),
		}, 80 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, MemoryLimit(tc.fs))
		})
	}
}

func TestResident(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 4096*7, resident("100 7 3 1 0 4 0", 4096), 0)
	assert.Zero(t, resident("", 4096))
	assert.Zero(t, resident("1 x", 4096))
}

// A logger that says nothing hid every fault once (acceptance J-10).
func TestLogSmoke(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		h, err := handler(Options{LogFormat: format, LogLevel: "info"}, &out)
		require.NoError(t, err)
		assert.True(t, h.Enabled(t.Context(), 0))
		assert.False(t, h.Enabled(t.Context(), -1))
		debug, err := handler(Options{LogFormat: format, LogLevel: "debug"}, &out)
		require.NoError(t, err)
		assert.True(t, debug.Enabled(t.Context(), -1))
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	e, err := Serve(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	get := func(path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.Addr().String()+path, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	assert.Equal(t, http.StatusOK, get("/healthz"))
	assert.Equal(t, http.StatusServiceUnavailable, get("/readyz"))
	e.Ready(true)
	assert.Equal(t, http.StatusOK, get("/readyz"))
	assert.Equal(t, http.StatusOK, get("/metrics"))
	_, err = Serve(t.Context(), e.Addr().String())
	require.Error(t, err, "a taken address is found at once")
}
