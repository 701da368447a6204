// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDetectCgroups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files []string
		v1    bool
		want  []string
	}{
		"version 2 is one tree": {
			files: []string{"cgroup.controllers", "cgroup.procs", "system.slice/cgroup.procs"}, want: []string{""},
		},
		"version 1 is a tree per controller": {
			files: []string{"cpu/cgroup.procs", "memory/cgroup.procs", "systemd/cgroup.procs"}, v1: true,
			want: []string{"cpu", "memory", "systemd"},
		},
		"hybrid is version 1 and its version 2 tree is left out": {
			files: []string{"memory/cgroup.procs", "unified/cgroup.procs", "unified/cgroup.controllers"}, v1: true, want: []string{"memory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mount := t.TempDir()
			for _, file := range test.files {
				writeFile(t, filepath.Join(mount, file), "")
			}
			found, err := detectCgroups(mount)
			require.NoError(t, err)
			assert.Equal(t, test.v1, found.v1)
			var want []string
			for _, folder := range test.want {
				want = append(want, filepath.Join(mount, folder))
			}
			assert.Equal(t, want, found.hierarchies)
		})
	}
}

func TestDetectCgroupsSaysWhenThereAreNone(t *testing.T) {
	t.Parallel()
	_, err := detectCgroups(t.TempDir())
	assert.ErrorContains(t, err, "no cgroups are mounted")
}

func TestALinkToAHierarchyIsNotASecondOne(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	writeFile(t, filepath.Join(mount, "cpu,cpuacct/cgroup.procs"), "")
	require.NoError(t, os.Symlink("cpu,cpuacct", filepath.Join(mount, "cpu")))
	found, err := detectCgroups(mount)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(mount, "cpu,cpuacct")}, found.hierarchies)
}

func TestACpusetIsFilledAndEverythingIsRemoved(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	writeFile(t, filepath.Join(mount, "cpuset/cgroup.procs"), "")
	writeFile(t, filepath.Join(mount, "cpuset/cpuset.cpus"), "0-1\n")
	writeFile(t, filepath.Join(mount, "cpuset/cpuset.mems"), "0\n")
	groups, err := detectCgroups(mount)
	require.NoError(t, err)
	require.NoError(t, groups.create("kopiur-x"))
	content, err := os.ReadFile(filepath.Join(mount, "cpuset/kopiur-x/cpuset.cpus"))
	require.NoError(t, err)
	assert.Equal(t, "0-1\n", string(content))
	assert.Equal(t, []string{filepath.Join(mount, "cpuset/kopiur-x")}, groups.leftovers(mount, "kopiur-x"))

	// Unlike here, files of a real cgroup do not stand in the way of rmdir.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		require.NoError(t, os.Remove(filepath.Join(mount, "cpuset/kopiur-x", file)))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(mount, "cpuset/kopiur-x/kubepods/pod1"), 0o755))
	require.NoError(t, groups.remove(mount, "kopiur-x"))
	assert.Empty(t, groups.leftovers(mount, "kopiur-x"))
}

func TestVersion2HandsControllersDown(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	writeFile(t, filepath.Join(mount, "cgroup.controllers"), "cpu memory pids\n")
	writeFile(t, filepath.Join(mount, "cgroup.subtree_control"), "")
	groups, err := detectCgroups(mount)
	require.NoError(t, err)
	require.NoError(t, groups.create("kopiur-x"))
	// The kernel adds one after the other; a plain file keeps the last.
	content, err := os.ReadFile(filepath.Join(mount, "cgroup.subtree_control"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "+pids")
	assert.DirExists(t, filepath.Join(mount, "kopiur-x"))
}
