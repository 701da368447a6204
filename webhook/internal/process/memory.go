// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io/fs"
	"strconv"
)

const (
	// limitShare of the cgroup's limit is the garbage collector's target: the rest is for what it does not count.
	limitShare = 80
	// fallbackLimit applies where no cgroup limits the process.
	fallbackLimit int64 = 128 << 20
	// unlimited is what version 1 shows where nothing was set, and a bound for nonsense.
	unlimited int64 = 1 << 60
)

// limitFiles are where a container sees its own limit, in version 2 and in version 1.
var limitFiles = []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}

// MemoryLimit is GOMEMLIMIT in bytes: 80 % of the container's limit, 128 MiB where there is none. root is the machine's /.
func MemoryLimit(root fs.FS) int64 {
	limit := unlimited
	for _, file := range limitFiles {
		b, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 {
			limit = min(limit, n)
		}
	}
	if limit >= unlimited {
		return fallbackLimit
	}
	return limit / 100 * limitShare
}
