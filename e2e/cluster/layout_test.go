// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLayoutFollowsTheUsersFolders(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	l, err := newLayout("cluster", "dev")
	require.NoError(t, err)
	assert.Equal(t, "/state/kopiur/cluster-dev", l.state)
	assert.Equal(t, "/run/kopiur/pki/ca.crt", l.inBox(l.pki("ca.crt")))
	assert.Equal(t, "/elsewhere/file", l.inBox("/elsewhere/file"))
	assert.Equal(t, "kopiur-dev", l.cgroup())

	t.Setenv("XDG_STATE_HOME", "relative/is/ignored")
	t.Setenv("HOME", "/home/x")
	l, err = newLayout("controlplane", "dev")
	require.NoError(t, err)
	assert.Equal(t, "/home/x/.local/state/kopiur/controlplane-dev", l.state)
}

func TestNamesAreKeptShortAndPlain(t *testing.T) {
	for name, ok := range map[string]bool{
		"dev": true, "a": true, "a-1": true, "twenty-characters-xx": true,
		"": false, "Dev": false, "-a": false, "a-": false, "a/b": false, "..": false, "twenty-one-characters": false,
	} {
		_, err := newLayout("cluster", name)
		assert.Equal(t, ok, err == nil, "name %q: %v", name, err)
	}
}

func TestOnlyAForeignKubeconfigCounts(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	l, err := newLayout("cluster", "dev")
	require.NoError(t, err)
	for path, want := range map[string]bool{"": false, "/home/x/.kube/config": true, l.kubeconfig(): false, "/state/kopiur-not/config": true} {
		t.Setenv("KUBECONFIG", path)
		got, found := External()
		assert.Equal(t, want, found, path)
		if want {
			assert.Equal(t, path, got)
		}
	}
}

func TestOnlyMissingPackagesAreInstalled(t *testing.T) {
	missing := missingPackages(func(program string) bool { return program != "runc" && filepath.Base(program) != "bridge" })
	assert.Equal(t, []string{"runc", "containernetworking-plugins"}, missing)
	assert.Empty(t, missingPackages(func(string) bool { return true }))
}

func TestRecordSurvivesTheCommand(t *testing.T) {
	l := layout{state: t.TempDir()}
	empty, err := l.read()
	require.NoError(t, err)
	assert.False(t, empty.running(), "nothing was recorded")
	want := record{Name: "x", Processes: []process{{Name: "etcd", PID: 1, Birth: "not mine"}}, Versions: map[string]string{"a": "v1"}}
	require.NoError(t, l.write(want))
	got, err := l.read()
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.False(t, got.running(), "its process is another one")
}
