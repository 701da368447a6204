// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	nobody       = 65534
	envChildTest = "KOPIUR_TEST_CHILD"
)

// asNobody runs the calling test again in a process without privileges, when this one has them: root reads what nobody
// else may. It reports true in the process that is to do the test.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	require.Empty(t, os.Getenv(envChildTest), "the child still runs as root")
	// The test binary lies in a folder that only root may enter; a descriptor needs no path.
	exe, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer exe.Close()
	tmp, err := os.MkdirTemp("/tmp", "kopiur-nobody-") //nolint:usetesting // t.TempDir lies in a folder that only root may enter
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	require.NoError(t, os.Chown(tmp, nobody, nobody))
	cmd := exec.CommandContext(testContext(t), "/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = tmp
	cmd.Env = []string{"TMPDIR=" + tmp, "HOME=" + tmp, envChildTest + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "as uid %d:\n%s", nobody, out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the child ran no test:\n%s", out)
	return false
}
