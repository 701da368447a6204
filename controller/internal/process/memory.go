// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	// limitShare of the cgroup's limit is the garbage collector's target: the rest is for what it does not count.
	limitShare = 80
	// fallbackLimit applies where no cgroup limits the process. The collector would otherwise let garbage double the heap
	// on a machine with much memory.
	fallbackLimit int64 = 256 << 20
	// unlimited is what version 1 shows where nothing was set, and a bound for nonsense.
	unlimited int64 = 1 << 60
)

// MemoryLimit is GOMEMLIMIT in bytes: 80 % of the cgroup's limit, 256 MiB where there is none. root is the machine's /.
func MemoryLimit(root fs.FS) int64 {
	limit := unlimited
	for _, file := range limitFiles(root) {
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

// limitFiles are where a limit may stand: at the mount, where a container sees its own cgroup, and on the way down to the
// path that the kernel names, where it sees the host's.
func limitFiles(root fs.FS) []string {
	const v2, v1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"
	files := []string{v2 + "/memory.max", v1 + "/memory.limit_in_bytes"}
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, name := "", ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			mount, name = v2, "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mount, name = v1, "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + parts[2]); dir != "/"; dir = path.Dir(dir) {
			files = append(files, mount+dir+"/"+name)
		}
	}
	return files
}
