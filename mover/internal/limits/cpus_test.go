// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/mover/internal/limits"
)

const envConfined = "KOPIUR_TEST_CONFINED"

func TestMain(m *testing.M) {
	if os.Getenv(envConfined) == "" {
		os.Exit(m.Run())
	}
	limits.Confine()
	narrowest := 1 << 10
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		os.Exit(1)
	}
	for _, t := range tasks {
		tid, _ := strconv.Atoi(t.Name())
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) == nil {
			narrowest = min(narrowest, set.Count())
		}
	}
	_, left := os.LookupEnv("KOPIUR_CPUS")
	_, _ = fmt.Fprintln(os.Stdout, runtime.NumCPU(), runtime.GOMAXPROCS(0), narrowest, left)
	os.Exit(0)
}

// D10: parallelism comes from the cgroup also where a library counts processors itself.
func TestConfine(t *testing.T) {
	t.Parallel()
	var all unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	for _, procs := range []int{1, all.Count()} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), envConfined+"=1", "GOMAXPROCS="+strconv.Itoa(procs))
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintln(procs, procs, all.Count(), false), string(out), "it counts %d and runs on all", procs)
	}
}
