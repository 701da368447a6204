// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits derives how much memory and parallelism a mover may use from its cgroup, never from the node.
// The Go runtime takes GOMAXPROCS from the cgroup by itself; memory it does not.
package limits

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	mib = 1 << 20
	// base is what a mover needs beside its parallel files: kopia's indexes, buffers and key derivation.
	base = 192 * mib
	// perFile is what one more file in flight costs: measured at about 10 MiB for an upload, with room for a restore.
	perFile = 24 * mib
	// maxParallel is where more files in flight stop to help.
	maxParallel = 8
	// unlimited is what cgroup v1 reports for no limit, less the rounding to pages.
	unlimited = math.MaxInt64 - 1<<20
)

// Memory is the memory limit of this process in bytes, 0 for none. It reads below root, "/" outside tests: cgroup v2's
// unified tree, then v1's memory controller.
func Memory(root fs.FS) int64 {
	v2, v1 := groups(root)
	limit := int64(0)
	for _, c := range []struct{ mount, group, file string }{
		{"sys/fs/cgroup", v2, "memory.max"},
		{"sys/fs/cgroup/memory", v1, "memory.limit_in_bytes"},
	} {
		// In a container the own group is the root of what is mounted; outside it is a path below. A limit of a parent
		// binds as well, so the smallest on the way up counts.
		for g := c.group; ; g = path.Dir(g) {
			if n := number(root, path.Join(c.mount, g, c.file)); n > 0 && n < unlimited && (limit == 0 || n < limit) {
				limit = n
			}
			if g == "/" || g == "." || g == "" {
				break
			}
		}
	}
	return limit
}

// GoMemory is the soft limit for the Go runtime: a tenth and at least 16 MiB stay for what it does not count (stacks of
// the kernel, mapped index files). 0 means none.
func GoMemory(limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	return max(limit-max(limit/10, 16*mib), limit/2)
}

// Parallel is how many files a mover works on at a time.
func Parallel(procs int, memory int64) int {
	n := max(2*procs, 2)
	if memory > 0 {
		n = min(n, int((memory-base)/perFile))
	}
	return max(1, min(n, maxParallel))
}

// InFlight is how many bytes of whole blobs a copy may hold at a time, 0 for no limit but its own.
func InFlight(memory int64) int64 {
	if memory <= 0 {
		return 0
	}
	return max(memory-base, perFile)
}

// groups reads the own cgroup of both hierarchies.
func groups(root fs.FS) (v2, v1 string) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return "/", "/"
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		parts := strings.SplitN(s.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			v2 = parts[2]
		case strings.Contains(","+parts[1]+",", ",memory,"):
			v1 = parts[2]
		}
	}
	return v2, v1
}

// Volume is the size of the file system of a folder and what is free in it, zeros where it does not say.
func Volume(dir string) (size, free int64) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0
	}
	block := int64(st.Bsize)                                  //nolint:unconvert // 32 bits on some machines
	return int64(st.Blocks) * block, int64(st.Bavail) * block //nolint:gosec // no disk has 8 EiB
}

func number(root fs.FS, name string) int64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0 // "max"
	}
	return n
}
