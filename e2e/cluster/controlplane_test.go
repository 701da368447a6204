// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPIServerOnLoopbackKeepsNoEndpoints(t *testing.T) {
	t.Parallel()
	assert.Contains(t, endpoints{advertise: "127.0.0.1"}.apiServerArgs(), "--endpoint-reconciler-type=none")
	assert.NotContains(t, endpoints{advertise: nodeIP}.apiServerArgs(), "--endpoint-reconciler-type=none")
}

// The real thing, as API tests use it. It runs where Kubernetes has been built; building it takes minutes.
func TestControlPlaneLifecycle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd and an API server")
	}
	b, err := newBuilder(t.Context(), ".", os.Stderr)
	require.NoError(t, err)
	kubernetes, err := b.kubernetes()
	require.NoError(t, err)
	folder, err := b.folder(kubernetes)
	require.NoError(t, err)
	if _, err := os.Stat(folder); err != nil {
		t.Skip("Kubernetes is not built; \"cluster up --control-plane-only\" does that")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())

	options := Options{Name: "lifecycle"}
	c, err := ControlPlane(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.end(context.WithoutCancel(t.Context()))) })
	ok, err := c.api.ready(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)

	again, err := ControlPlane(t.Context(), options)
	require.NoError(t, err)
	assert.Equal(t, c.record.Processes, again.record.Processes, "one that runs is used again")
	status, err := again.Status(t.Context())
	require.NoError(t, err)
	assert.True(t, status.Ready)
	for _, file := range []string{status.Kubeconfig, status.AuditLog, filepath.Join(status.PKI, "kubelet-serving.key"), filepath.Join(status.Assets, "etcd")} {
		assert.FileExists(t, file)
	}
	definitions, err := filepath.Glob(filepath.Join(status.SnapshotCRDs, "*.yaml"))
	require.NoError(t, err)
	assert.Len(t, definitions, 6)

	require.NoError(t, again.Down(t.Context()))
	found, err := Find(options, true)
	require.NoError(t, err)
	assert.False(t, found.Running())
	assert.Empty(t, found.Leftovers())
}
