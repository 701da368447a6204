// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// kopiurctl runs the program that make build has made, as a plugin of kubectl.
func kopiurctl(t *testing.T, namespace string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	program, err := filepath.Abs("../../out/release/kopiurctl")
	require.NoError(t, err)
	require.FileExists(t, program, "make build makes it")
	plugin := filepath.Join(t.TempDir(), "kubectl-kopiur")
	require.NoError(t, os.Symlink(program, plugin))
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), plugin, append(args, "-n", namespace)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// TestKopiurctl makes a backup from the command line and waits for it: real movers, real progress, a real log.
func TestKopiurctl(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot))
	e.FilesystemRepository(t, ns)

	code, stdout, stderr := kopiurctl(t, ns, "snapshot", "now", "--policy", "app", "--name", "one", "--wait", "--logs", "--timeout", "3m")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^one +Succeeded +manual +app +repo `, stdout)
	assert.Contains(t, stderr, "one  Succeeded")
	assert.NotContains(t, stderr, "cannot be followed")

	code, stdout, stderr = kopiurctl(t, ns, "snapshots", "list", "-o", "json")
	require.Zero(t, code, stderr)
	var list kopiurv1.SnapshotList
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	require.Len(t, list.Items, 1)
	assert.NotEmpty(t, list.Items[0].Status.Snapshot.KopiaSnapshotID)

	code, stdout, stderr = kopiurctl(t, ns, "status")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^repo +Repository +Ready +filesystem`, stdout)
	assert.Regexp(t, `(?m)^app +repo +\d+s ago +0 +1 `, stdout)

	code, _, stderr = kopiurctl(t, ns, "snapshot", "now", "--policy", "ap")
	assert.Equal(t, 3, code)
	assert.Contains(t, stderr, "did you mean app?")
}
