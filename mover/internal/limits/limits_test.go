// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/mover/internal/limits"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroup at all":                    {nil, 0},
		"v2, a container sees its own":        {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 268435456},
		"v2 without a limit":                  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"v2, the smallest on the way up":      {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "200\n", "sys/fs/cgroup/a/memory.max": "100\n"}, 100},
		"v1":                                  {map[string]string{"proc/self/cgroup": "5:cpu,memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728\n"}, 134217728},
		"v1 without a limit":                  {map[string]string{"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"v1, the host's path is not mounted":  {map[string]string{"proc/self/cgroup": "5:memory:/kubepods/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "77\n"}, 77},
		"v1 memory beside a v2 without files": {map[string]string{"proc/self/cgroup": "0::/\n5:memory:/p\n", "sys/fs/cgroup/memory/p/memory.limit_in_bytes": "99\n"}, 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{}
			for p, s := range tc.files {
				root[p] = &fstest.MapFile{Data: []byte(s)}
			}
			assert.Equal(t, tc.want, limits.Memory(root))
		})
	}
}

func TestGoMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	assert.Zero(t, limits.GoMemory(0))
	assert.Equal(t, int64(900*mib), limits.GoMemory(1000*mib))
	assert.Equal(t, int64(84*mib), limits.GoMemory(100*mib))
	assert.Equal(t, int64(10*mib), limits.GoMemory(20*mib), "never less than half")
}

func TestParallel(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	assert.Equal(t, 8, limits.Parallel(64, 0), "more does not help")
	assert.Equal(t, 4, limits.Parallel(2, 0))
	assert.Equal(t, 2, limits.Parallel(8, 256*mib), "a small container works on few files at a time")
	assert.Equal(t, 1, limits.Parallel(8, 64*mib))
	assert.Equal(t, 2, limits.Parallel(0, 0))
}
