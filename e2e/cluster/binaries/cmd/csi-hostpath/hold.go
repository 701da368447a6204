// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// holdWriters stops every process of a container that has one of the folders mounted, and returns when all stand still.
// resume lets them go on; it is to be called whatever happened. The node's own programs see the same mounts and are not
// stopped: they run in the driver's mount namespace.
func holdWriters(ctx context.Context, folders []string) (resume func() error, err error) {
	var held []int
	resume = func() error {
		var errs []error
		for _, pid := range held {
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
				errs = append(errs, fmt.Errorf("resume process %d: %w", pid, err))
			}
		}
		return errors.Join(errs...)
	}
	// One that was started by a process before that stood still is found by another look.
	for {
		found, err := writers("/proc", folders)
		if err != nil {
			return resume, err
		}
		fresh := 0
		for _, pid := range found {
			if slices.Contains(held, pid) {
				continue
			}
			fresh++
			held = append(held, pid)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
				return resume, fmt.Errorf("stop process %d: %w", pid, err)
			}
		}
		if fresh == 0 {
			return resume, nil
		}
		for _, pid := range held {
			if err := still(ctx, pid); err != nil {
				return resume, err
			}
		}
	}
}

// writers are the processes outside our mount namespace that have one of the folders mounted.
func writers(proc string, folders []string) ([]int, error) {
	own, err := os.Readlink(filepath.Join(proc, "self", "ns", "mnt"))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		namespace, err := os.Readlink(filepath.Join(proc, entry.Name(), "ns", "mnt"))
		if err != nil || namespace == own {
			continue // gone by now, or one of the node's
		}
		mounts, err := os.ReadFile(filepath.Join(proc, entry.Name(), "mountinfo"))
		if err == nil && mountsAny(mounts, folders) {
			out = append(out, pid)
		}
	}
	return out, nil
}

// mountsAny reports whether a mount's root is one of the folders. The root is a path within its file system, which may
// begin further up or down than ours; the end of it, an id and "data", is unique.
func mountsAny(mountinfo []byte, folders []string) bool {
	for line := range strings.Lines(string(mountinfo)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[3] == "/" {
			continue
		}
		for _, folder := range folders {
			if strings.HasSuffix(fields[3], "/"+filepath.Join(filepath.Base(filepath.Dir(folder)), filepath.Base(folder))) {
				return true
			}
		}
	}
	return false
}

// still waits until no thread of a process runs.
func still(ctx context.Context, pid int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		if err != nil {
			return err
		}
		runs := false
		for _, path := range stats {
			raw, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			runs = runs || !strings.Contains("TtZXx", state(raw))
		}
		if !runs {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for process %d to stand still: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
}

// state is the letter behind the name, which may itself hold parentheses and spaces.
func state(stat []byte) string {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 || end+2 >= len(stat) {
		return "?"
	}
	return string(stat[end+2])
}
