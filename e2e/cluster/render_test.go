// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testView(v1 bool) view {
	return view{Root: "/run/kopiur", Node: "kopiur-x", Cgroup: "kopiur-x", CgroupV1: v1, Runc: "/usr/sbin/runc"}
}

func TestEveryAssetRenders(t *testing.T) {
	t.Parallel()
	names, err := assetNames("")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		content, err := renderAsset(name, testView(true))
		require.NoError(t, err, name)
		assert.NotContains(t, string(content), "<no value>", name)
		assert.NotContains(t, string(content), "{{", name)
		assert.NotContains(t, string(content), "\t", "%s: YAML and TOML take no tabs here", name)
		if strings.HasSuffix(name, ".conflist") {
			assert.True(t, json.Valid(content), name)
		}
	}
}

func TestKubeletAcceptsOnlyTheMachinesCgroupVersion(t *testing.T) {
	t.Parallel()
	for version, v1 := range map[string]bool{"1": true, "2": false} {
		content, err := renderAsset("conf/kubelet.yaml", testView(v1))
		require.NoError(t, err)
		assert.Equal(t, v1, strings.Contains(string(content), "failCgroupV1: false"), "version %s", version)
		assert.Contains(t, string(content), "cgroupRoot: /kopiur-x\n")
	}
}

func TestStorageHasBothDriversAndOneDefaultClass(t *testing.T) {
	t.Parallel()
	content, err := renderAsset("manifests/20-storage.yaml", testView(true))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(content), "kind: CSIDriver"))
	assert.Equal(t, 1, strings.Count(string(content), "is-default-class"))
	assert.Equal(t, 4, strings.Count(string(content), "kind: StorageClass"))
}

func TestRenderWritesBelowTheStateFolder(t *testing.T) {
	t.Parallel()
	l := layout{name: "x", state: t.TempDir()}
	require.NoError(t, render(l, testView(true), "conf/resolv.conf", "conf/cni/10-bridge.conflist"))
	content, err := os.ReadFile(l.conf("resolv.conf"))
	require.NoError(t, err)
	assert.Equal(t, "nameserver "+dnsServiceIP+"\n", string(content))
}
