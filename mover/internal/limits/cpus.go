// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// envCPUs carries the processors this process may run on through a start of itself.
const envCPUs = "KOPIUR_CPUS"

// Confine makes the number of processors that a library sees that of the cgroup. Kopia rewrites contents and walks
// snapshots in as many goroutines as the node has cores, several times over, and nothing else tells it less: on a node
// with 64 of them a maintenance with a limit of one holds hundreds of contents in memory. The runtime counts processors
// once, from the affinity of its first thread, so this starts the program again with a narrower one, which the new
// process widens at once: it is counted by, not run on. Call it first in main.
func Confine() {
	if list, ok := os.LookupEnv(envCPUs); ok {
		_ = os.Unsetenv(envCPUs)
		widen(parseCPUs(list))
		return
	}
	n := runtime.GOMAXPROCS(0) // the runtime has asked the cgroup
	if runtime.NumCPU() <= n {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, few unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return
	}
	for cpu, left := 0, n; cpu < maxCPUs && left > 0; cpu++ {
		if all.IsSet(cpu) {
			few.Set(cpu)
			left--
		}
	}
	if err := unix.SchedSetaffinity(0, &few); err != nil {
		return
	}
	// It comes back only where it failed; then kopia sees the node, and memory is bounded by GOMEMLIMIT alone.
	_ = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), envCPUs+"="+formatCPUs(all))) //nolint:gosec // ourselves
	_ = unix.SchedSetaffinity(0, &all)
}

const maxCPUs = 1024

// widen gives every thread all processors again. The runtime starts threads meanwhile, from ones that may be narrow yet.
func widen(all unix.CPUSet) {
	if all.Count() == 0 {
		return
	}
	done := map[int]bool{}
	for again := true; again; {
		again = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || done[tid] {
				continue
			}
			_ = unix.SchedSetaffinity(tid, &all)
			done[tid], again = true, true
		}
	}
}

func formatCPUs(set unix.CPUSet) string {
	var out []string
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			out = append(out, strconv.Itoa(cpu))
		}
	}
	return strings.Join(out, ",")
}

func parseCPUs(list string) unix.CPUSet {
	var set unix.CPUSet
	for s := range strings.SplitSeq(list, ",") {
		if cpu, err := strconv.Atoi(s); err == nil && cpu >= 0 && cpu < maxCPUs {
			set.Set(cpu)
		}
	}
	return set
}
