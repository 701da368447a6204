// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{"KOPIUR_NAMESPACE": "kopiur-system"}
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
		want    func(*Options)
		wantErr string
	}{
		"defaults": {env: env(), want: func(*Options) {}},
		"the flag wins over the variable": {
			args: []string{"--addr=:9443", "--tls-managed=true"},
			env:  env("KOPIUR_WEBHOOK_ADDR", ":7443", "KOPIUR_WEBHOOK_TLS_MANAGED", "false"),
			want: func(o *Options) { o.Addr = ":9443" },
		},
		"every variable": {
			env: env(
				"KOPIUR_WEBHOOK_ADDR", ":1", "KOPIUR_HTTP_ADDR", ":2", "KOPIUR_WEBHOOK_TLS_MANAGED", "false",
				"KOPIUR_WEBHOOK_TLS_SECRET_NAME", "s", "KOPIUR_WEBHOOK_TLS_SERVICE_NAME", "v",
				"KOPIUR_WEBHOOK_TLS_VALIDATING_CONFIG", "a", "KOPIUR_WEBHOOK_TLS_MUTATING_CONFIG", "b",
				"KOPIUR_WEBHOOK_TLS_DIR", "/certs", "KOPIUR_WORKER_THREADS", "4", "KOPIUR_LOG_FORMAT", "json", "KOPIUR_LOG_LEVEL", "debug",
			),
			want: func(o *Options) {
				*o = Options{
					Addr: ":1", HTTPAddr: ":2", Namespace: "kopiur-system", SecretName: "s", ServiceName: "v", ValidatingConfig: "a",
					MutatingConfig: "b", TLSDir: "/certs", WorkerThreads: 4, LogFormat: "json", LogLevel: "debug",
				}
			},
		},
		"no namespace for a certificate of its own": {env: func(string) string { return "" }, wantErr: "--namespace (or KOPIUR_NAMESPACE) is not set"},
		"no folder for somebody else's":             {args: []string{"--tls-managed=false", "--tls-dir="}, env: env(), wantErr: "--tls-dir (or KOPIUR_WEBHOOK_TLS_DIR) is not set"},
		"a number that is none":                     {env: env("KOPIUR_WORKER_THREADS", "two"), wantErr: "is not a number"},
		"neither true nor false":                    {env: env("KOPIUR_WEBHOOK_TLS_MANAGED", "self"), wantErr: "is not true or false"},
		"no threads":                                {args: []string{"--worker-threads=0"}, env: env(), wantErr: "must be at least 1"},
		"a log format that is none":                 {env: env("KOPIUR_LOG_FORMAT", "xml"), wantErr: "must be text or json"},
		"an argument too many":                      {args: []string{"run"}, env: env(), wantErr: "unexpected argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tc.args, tc.env, io.Discard)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			want := Options{
				Addr: ":8443", HTTPAddr: ":8081", Namespace: "kopiur-system", TLSManaged: true, SecretName: "kopiur-webhook-tls",
				ServiceName: "kopiur-webhook", ValidatingConfig: "kopiur-webhook", MutatingConfig: "kopiur-webhook",
				TLSDir: "/tls", WorkerThreads: 2, LogFormat: "text", LogLevel: "info",
			}
			tc.want(&want)
			assert.Equal(t, want, got)
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
		"no cgroups":                {fstest.MapFS{}, 128 * mib},
		"version 2 without a limit": {fstest.MapFS{"sys/fs/cgroup/memory.max": file("max\n")}, 128 * mib},
		"version 2":                 {fstest.MapFS{"sys/fs/cgroup/memory.max": file("104857600\n")}, 80 * mib},
		"version 1 without a limit": {fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 128 * mib},
		"version 1":                 {fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": file("104857600\n")}, 80 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, MemoryLimit(tc.fs))
		})
	}
}

func TestLogSmoke(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		h, err := handler(Options{LogFormat: format, LogLevel: "info"}, &out)
		require.NoError(t, err)
		assert.True(t, h.Enabled(t.Context(), 0))
		assert.False(t, h.Enabled(t.Context(), -1))
	}
}
