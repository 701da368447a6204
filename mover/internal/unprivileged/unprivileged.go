// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unprivileged runs a test with other rights than its own. Much of what a mover must report, root never meets: it
// reads every file and may give one to anybody. And a volume that is full or read-only has to be mounted first. Only tests
// import it.
package unprivileged

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	nobody   = 65534
	envChild = "KOPIUR_TEST_CHILD"
)

// Again runs the calling test once more in a process without privileges, when this one has them. It reports true in the
// process that is to do the test.
func Again(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	if os.Getenv(envChild) == "nobody" {
		t.Fatal("the child still runs as root")
	}
	// The test binary lies in a folder that only root may enter; a descriptor needs no path. So does t.TempDir.
	exe, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer exe.Close()
	tmp, err := os.MkdirTemp("/tmp", "kopiur-nobody-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	require.NoError(t, os.Chown(tmp, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp, envChild+"=nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "as uid %d:\n%s", nobody, out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the child ran no test:\n%s", out)
	return false
}

// Mounting runs the calling test once more where it may mount file systems that nobody else sees and that go away with it.
// It reports true in the process that is to do the test.
func Mounting(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envChild) == "mounting" {
		return true
	}
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), envChild+"=mounting")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "in a mount namespace of its own:\n%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the child ran no test:\n%s", out)
	t.Logf("%s", out)
	return false
}

// Volume mounts an empty file system of this many bytes.
func Volume(t *testing.T, dir string, bytes int64) {
	t.Helper()
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// ReadOnly makes a mounted volume read-only.
func ReadOnly(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}
