// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// privateRun hides the host's /run: containerd's shims, runc, CNI and iptables keep sockets, namespaces and locks at
// fixed paths there, which would stay behind and clash with the host's own.
const privateRun = "/run"

// furnishMounts gives the box its own /proc, /run and scratch folders, and the state folder at a short path.
func furnishMounts(c box.Config) error {
	// First cut all ties with the host, so that nothing below is seen there. At the end the tree is shared again,
	// within the box: pods with Bidirectional mounts need that.
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return err
	}
	// The state folder may lie under a folder that is about to be covered: hold on to it.
	state, err := os.Open(c.StateDir)
	if err != nil {
		return err
	}
	defer state.Close()
	if err := mount("tmpfs", privateRun, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return err
	}
	for i, folder := range c.Scratch {
		if err := scratch(folder, filepath.Join(privateRun, "box-scratch", fmt.Sprint(i))); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.MountPoint, 0o755); err != nil {
		return err
	}
	if err := mount(fmt.Sprintf("/proc/self/fd/%d", state.Fd()), c.MountPoint, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	if err := coverSysctls(c.Sysctls); err != nil {
		return err
	}
	return mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

// scratch covers a folder with an overlay of itself whose upper layer is in memory.
func scratch(folder, upper string) error {
	for _, part := range []string{"upper", "work"} {
		if err := os.MkdirAll(filepath.Join(upper, part), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", folder, upper, upper)
	return mount("overlay", folder, "overlay", 0, options)
}

// coverSysctls puts a plain file over each named setting. The kubelet insists on values of its own for settings that
// belong to the whole machine; with these it reads what it wants and changes nothing.
func coverSysctls(values map[string]string) error {
	folder := filepath.Join(privateRun, "box-sysctls")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, value := range values {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
			continue // a kernel without it; the kubelet will say so if it minds
		}
		file := filepath.Join(folder, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(file, target, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := syscall.Mount(source, target, fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s %s on %s: %w", fstype, source, target, err)
	}
	return nil
}
