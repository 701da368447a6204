// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoCgroup is why there is no memory limit to run under.
var ErrNoCgroup = errors.New("no memory cgroup can be made here")

// Cgroup is a memory limit.
type Cgroup struct {
	dir string
	v1  bool
}

// NewCgroup makes a memory cgroup below the mount of cgroups, usually /sys/fs/cgroup: version 2 where it has the memory
// controller, version 1 otherwise. It takes root.
func NewCgroup(mount, name string, limit int64) (*Cgroup, error) {
	g := &Cgroup{dir: filepath.Join(mount, name)}
	controllers, err := os.ReadFile(filepath.Join(mount, "cgroup.controllers"))
	g.v1 = err != nil || !strings.Contains(" "+string(controllers), " memory")
	if g.v1 {
		g.dir = filepath.Join(mount, "memory", name)
	} else if err := os.WriteFile(filepath.Join(mount, "cgroup.subtree_control"), []byte("+memory"), 0o600); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	file, swap := "memory.max", "memory.swap.max"
	if g.v1 {
		file, swap = "memory.limit_in_bytes", "memory.swappiness"
	}
	if err := g.write(file, limit); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoCgroup, err), g.Remove())
	}
	_ = g.write(swap, 0) // absent where the machine has no swap
	return g, nil
}

// Dirs are what a Runner enters.
func (g *Cgroup) Dirs() []string { return []string{g.dir} }

// Remove removes the cgroup. Nothing runs in it any more.
func (g *Cgroup) Remove() error {
	if err := os.Remove(g.dir); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the cgroup: %w", err)
	}
	return nil
}

// Kills is how many processes the kernel has killed in it for memory.
func (g *Cgroup) Kills() (int64, error) {
	if g.v1 {
		return g.field("memory.oom_control", "oom_kill")
	}
	return g.field("memory.events", "oom_kill")
}

// Peak is the most memory that was in use, the page cache included: what the kernel compares with the limit.
func (g *Cgroup) Peak() (int64, error) {
	file := "memory.peak"
	if g.v1 {
		file = "memory.max_usage_in_bytes"
	}
	b, err := os.ReadFile(filepath.Join(g.dir, file))
	if os.IsNotExist(err) {
		return 0, nil // version 2 of an older kernel
	}
	if err != nil {
		return 0, fmt.Errorf("read the cgroup: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the cgroup: %w", err)
	}
	return n, nil
}

func (g *Cgroup) field(file, name string) (int64, error) {
	b, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0, fmt.Errorf("read the cgroup: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the cgroup: %w", err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("read the cgroup: %s has no %s", file, name) //nolint:err113 // read by people
}

func (g *Cgroup) write(file string, value int64) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(strconv.FormatInt(value, 10)), 0o600) //nolint:wrapcheck // names the path
}
