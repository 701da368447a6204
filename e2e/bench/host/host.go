// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host says what a run of the benchmarks was made on, and installs what it compares with.
package host

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/e2e/bench/report"
)

// Install installs Debian packages whose program of the same name is missing, and returns those that still are.
func Install(ctx context.Context, progress io.Writer, names ...string) []string {
	missing := func() []string {
		var out []string
		for _, n := range names {
			if _, err := exec.LookPath(n); err != nil {
				out = append(out, n)
			}
		}
		return out
	}
	want := missing()
	if len(want) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return want
	}
	fmt.Fprintln(progress, "Installing", strings.Join(want, " "))
	install := append([]string{"install", "--yes", "--no-install-recommends"}, want...)
	// The package lists may be absent or old.
	for _, args := range [][]string{install, {"update"}, install} {
		if err := aptGet(ctx, args); err != nil {
			fmt.Fprintln(progress, err)
		} else if args[0] == "install" {
			break
		}
	}
	return missing()
}

func aptGet(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, strings.TrimSpace(out.String()))
	}
	return nil
}

// Machine is what the figures depend on. It names no host: a report is published.
func Machine(work string) []report.Fact {
	out := []report.Fact{
		{Name: "processors", Value: fmt.Sprintf("%d × %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"))},
		{Name: "memory", Value: memory()},
		{Name: "kernel", Value: kernel()},
		{Name: "file system of data and stores", Value: fileSystem(work)},
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		out = append(out, report.Fact{Name: "load when it began (1, 5, 15 minutes)", Value: strings.Join(strings.Fields(string(b))[:3], ", ")})
	}
	return out
}

// field is one value of a file with lines like "name : value".
func field(path, name string) string {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kib); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(kib)/(1<<20))
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return "Linux " + unix.ByteSliceToString(u.Release[:])
}

func fileSystem(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "unknown"
	}
	switch int64(st.Type) { //nolint:unconvert // 32 bits on some machines
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs (memory: no disk was measured)"
	default:
		return fmt.Sprintf("type %#x", st.Type)
	}
}

// ModuleVersion is the version of a module that a Go program was built from, "" where it does not say.
func ModuleVersion(program, module string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}

// Versions asks programs for theirs: each is a name, a path and arguments. One that is not there is left out.
func Versions(ctx context.Context, programs [][]string) []report.Fact {
	out := []report.Fact{{Name: "Go", Value: runtime.Version()}}
	for _, p := range programs {
		if p[1] == "" {
			continue
		}
		b, err := exec.CommandContext(ctx, p[1], p[2:]...).CombinedOutput()
		line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
		if err == nil {
			out = append(out, report.Fact{Name: p[0], Value: strings.Trim(strings.TrimSpace(line), "*")})
		}
	}
	return out
}
