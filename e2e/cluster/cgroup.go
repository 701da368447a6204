// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroupMount is where every distribution mounts cgroups.
const cgroupMount = "/sys/fs/cgroup"

// cgroups is the machine's cgroup tree: one hierarchy in version 2, one per controller in version 1.
type cgroups struct {
	v1 bool
	// hierarchies are the folders in which a cgroup of ours must exist.
	hierarchies []string
}

// detectCgroups looks at a cgroup mount. Version 2 has cgroup.controllers at its top. The hybrid layout is version 1
// with a version 2 tree without controllers in the folder unified.
func detectCgroups(mount string) (cgroups, error) {
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return cgroups{hierarchies: []string{mount}}, nil
	}
	entries, err := os.ReadDir(mount)
	if err != nil {
		return cgroups{}, fmt.Errorf("look for cgroups: %w", err)
	}
	found := cgroups{v1: true}
	for _, entry := range entries {
		// Symbolic links (cpu -> cpu,cpuacct) name a hierarchy a second time.
		folder := filepath.Join(mount, entry.Name())
		if _, err := os.Stat(filepath.Join(folder, "cgroup.procs")); entry.IsDir() && err == nil && entry.Name() != "unified" {
			found.hierarchies = append(found.hierarchies, folder)
		}
	}
	if len(found.hierarchies) == 0 {
		return cgroups{}, fmt.Errorf("no cgroups are mounted at %s", mount)
	}
	return found, nil
}

// create makes the cgroup that the kubelet is told to use as its root. The kubelet wants it to exist.
func (c cgroups) create(name string) error {
	for _, hierarchy := range c.hierarchies {
		if !c.v1 {
			if err := enableControllers(hierarchy); err != nil {
				return err
			}
		}
		folder := filepath.Join(hierarchy, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		// A cpuset of version 1 starts empty, and nothing can run in it until it is filled.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(hierarchy, file))
			if !c.v1 || errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, file), value, 0o644)
			}
			if err != nil {
				return fmt.Errorf("fill cgroup: %w", err)
			}
		}
	}
	return nil
}

// enableControllers hands the top's controllers down, which version 2 wants before a child may use them.
func enableControllers(top string) error {
	raw, err := os.ReadFile(filepath.Join(top, "cgroup.controllers"))
	if err != nil {
		return err
	}
	available := strings.Fields(string(raw))
	for _, controller := range []string{"cpuset", "cpu", "io", "memory", "pids", "hugetlb"} {
		if !slices.Contains(available, controller) {
			continue
		}
		if err := os.WriteFile(filepath.Join(top, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("enable cgroup controller %s (inside a container its processes must first leave the top cgroup): %w", controller, err)
		}
	}
	return nil
}

// leftovers lists folders of a cgroup that still exist, in every hierarchy, also those that create did not touch.
func (c cgroups) leftovers(mount, name string) []string {
	candidates := []string{filepath.Join(mount, name)}
	if more, err := filepath.Glob(filepath.Join(mount, "*", name)); err == nil && c.v1 {
		candidates = more
	}
	var found []string
	for _, folder := range candidates {
		if _, err := os.Stat(folder); err == nil {
			found = append(found, folder)
		}
	}
	return found
}

// remove deletes a cgroup and everything below it. The kernel refuses while a process is in it.
func (c cgroups) remove(mount, name string) error {
	var problems []error
	for _, top := range c.leftovers(mount, name) {
		var folders []string
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return err
		})
		problems = append(problems, err)
		for _, folder := range slices.Backward(folders) {
			if err := os.Remove(folder); err != nil && !errors.Is(err, os.ErrNotExist) {
				problems = append(problems, fmt.Errorf("remove cgroup: %w", err))
			}
		}
	}
	return errors.Join(problems...)
}
