// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unprivileged runs a test without root's rights. Much of what a mover must report, root never meets: it reads
// every file and may give one to anybody. Only tests import it.
package unprivileged

import (
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
	require.Empty(t, os.Getenv(envChild), "the child still runs as root")
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
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp, envChild+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "as uid %d:\n%s", nobody, out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the child ran no test:\n%s", out)
	return false
}
