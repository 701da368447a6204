// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// Down ends the cluster and removes everything but its logs. It is no error if there is nothing to end. Should
// anything remain nevertheless, the error lists it.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := lockFile(ctx, c.layout.lock, func() { c.say("Waiting for another command on this cluster") })
	if err != nil {
		return err
	}
	defer unlock()
	// Whoever held the lock may have changed what there is to end.
	if c.record, err = c.layout.read(); err != nil {
		return err
	}
	return c.end(ctx)
}

func (c *Cluster) end(ctx context.Context) error {
	if c.api != nil {
		c.api.close()
	}
	var problems []error
	for _, p := range slices.Backward(c.record.Processes) {
		// A box's pid 1 takes along everything in the box: the kernel ends a pid namespace with its first process.
		problems = append(problems, p.end(ctx))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	c.record = record{}
	if err := c.clear(ctx); err != nil {
		return err
	}
	if rest := c.Leftovers(); len(rest) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(rest, "; "))
	}
	return nil
}

// clear removes cgroups and files. Processes of the box can take a moment to leave both after they were killed.
func (c *Cluster) clear(ctx context.Context) error {
	if c.isBox() {
		groups, err := detectCgroups(cgroupMount)
		if err != nil {
			return err
		}
		var last error
		err = until(ctx, 20*time.Second, "the removal of cgroups", func(context.Context) (bool, error) {
			last = groups.remove(cgroupMount, c.layout.cgroup())
			return last == nil, nil
		})
		if err != nil {
			return errors.Join(err, last)
		}
	}
	// Removing files through a mount that leads elsewhere would be a disaster, so mounts go first.
	for _, mount := range mountsBelow(c.layout.state) {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", mount, err)
		}
	}
	if c.isBox() {
		if err := detachLoops(c.layout.state); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(c.layout.state)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if path := filepath.Join(c.layout.state, entry.Name()); path != c.layout.logs {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove the cluster's files: %w", err)
			}
		}
	}
	return nil
}

// Leftovers lists what is on the machine of this cluster while it does not run: processes, mounts, cgroups, network
// devices and files, logs excepted.
func (c *Cluster) Leftovers() []string {
	var found []string
	for _, pid := range c.strayProcesses() {
		found = append(found, "process "+pid)
	}
	for _, mount := range mountsBelow(c.layout.state) {
		found = append(found, "mount "+mount)
	}
	if groups, err := detectCgroups(cgroupMount); err == nil && c.isBox() {
		for _, folder := range groups.leftovers(cgroupMount, c.layout.cgroup()) {
			found = append(found, "cgroup "+folder)
		}
	}
	// The box's devices live and end in its own network; seeing one here would mean that it was made outside.
	if devices, err := net.Interfaces(); err == nil && c.isBox() {
		for _, device := range devices {
			if strings.HasPrefix(device.Name, "kopiur-") {
				found = append(found, "network device "+device.Name)
			}
		}
	}
	if entries, err := os.ReadDir(c.layout.state); err == nil {
		for _, entry := range entries {
			if entry.Name() != filepath.Base(c.layout.logs) {
				found = append(found, "file "+filepath.Join(c.layout.state, entry.Name()))
			}
		}
	}
	return found
}

// strayProcesses finds programs that the harness started for this cluster, by the mark in their environment.
func (c *Cluster) strayProcesses() []string {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []string
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		// Other users' processes cannot be read, and are none of ours.
		if err != nil || !slices.Contains(strings.Split(string(environment), "\x00"), c.mark()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err == nil && len(line) > 0 {
			found = append(found, filepath.Base(folder)+" ("+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))+")")
		}
	}
	return found
}

// mark is the variable in the environment of every program of this cluster.
func (c *Cluster) mark() string { return "KOPIUR_CLUSTER=" + string(c.kind) + "-" + c.layout.name }

// mountsBelow lists mount points under a folder, the innermost first.
func mountsBelow(folder string) []string {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer file.Close()
	return slices.Collect(func(yield func(string) bool) {
		var all []string
		for lines := bufio.NewScanner(file); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
				all = append(all, fields[4])
			}
		}
		for _, mount := range slices.Backward(all) {
			if !yield(mount) {
				return
			}
		}
	})
}

// allRunning fails if a program of the box has ended.
func (c *Cluster) allRunning(ctx context.Context) error {
	processes, err := box.Ask(ctx, c.layout.socket(), box.Request{})
	if err != nil {
		return err
	}
	for _, p := range processes {
		if !p.Running {
			return c.blame(p.Name, fmt.Errorf("ended with %s", p.Exit))
		}
	}
	return nil
}
