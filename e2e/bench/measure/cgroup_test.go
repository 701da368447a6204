// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// TestCgroup runs on folders that look like the kernel's.
func TestCgroup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before             map[string]string
		dir                string
		limit, kills, peak string
		told               map[string]string
	}{
		"version 2": {
			map[string]string{"cgroup.controllers": "cpu io memory pids\n"},
			"bench", "memory.max", "memory.events", "memory.peak",
			map[string]string{"memory.events": "low 0\noom 3\noom_kill 2\n", "memory.peak": "123\n"},
		},
		"version 1, beside a version 2 that has no memory controller": {
			map[string]string{"memory/cgroup.procs": "", "unified/cgroup.controllers": ""},
			"memory/bench", "memory.limit_in_bytes", "memory.oom_control", "memory.max_usage_in_bytes",
			map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "memory.max_usage_in_bytes": "123\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mount := t.TempDir()
			put := func(name, content string) {
				path := filepath.Join(mount, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			}
			for path, content := range tc.before {
				put(path, content)
			}
			g, err := measure.NewCgroup(mount, "bench", 256<<20)
			require.NoError(t, err)
			dir := filepath.Join(mount, tc.dir)
			assert.Equal(t, []string{dir}, g.Dirs())
			b, err := os.ReadFile(filepath.Join(dir, tc.limit))
			require.NoError(t, err)
			assert.Equal(t, "268435456", string(b))
			for file, content := range tc.told {
				put(filepath.Join(tc.dir, file), content)
			}
			kills, err := g.Kills()
			require.NoError(t, err)
			assert.EqualValues(t, 2, kills)
			peak, err := g.Peak()
			require.NoError(t, err)
			assert.EqualValues(t, 123, peak)
		})
	}
	_, err := measure.NewCgroup(filepath.Join(t.TempDir(), "none"), "bench", 1)
	require.ErrorIs(t, err, measure.ErrNoCgroup, "no cgroup is a reason to leave a row out")
}
