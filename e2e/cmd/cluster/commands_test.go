// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/cluster"
)

func execute(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out, progress bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), progress.String(), err
}

func TestAClusterOfTheUsersIsUsedAsItIs(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", kubeconfig)
	stdout, stderr, err := execute(t, "up", "--print-env")
	require.NoError(t, err)
	assert.Empty(t, stdout, "nothing for tests to read: they have KUBECONFIG")
	assert.Contains(t, stderr, kubeconfig)
	assert.Contains(t, stderr, "localhost/kopiur/mover:dev")

	stdout, _, err = execute(t, "kubeconfig")
	require.NoError(t, err)
	assert.Equal(t, kubeconfig+"\n", stdout)

	_, _, err = execute(t, "load-image", "x.tar")
	assert.ErrorContains(t, err, "hack/image push")
}

func TestWithoutAClusterEveryVerbSaysSo(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	// The cluster that these tests run beside has a name of its own in the environment.
	t.Setenv("KOPIUR_CLUSTER", "absent")
	for _, args := range [][]string{{"kubeconfig"}, {"load-image", "x.tar"}, {"exec", "--", "true"}, {"kubeconfig", "--control-plane-only"}} {
		_, _, err := execute(t, args...)
		require.ErrorContains(t, err, "does not run", "%v", args)
	}
	stdout, _, err := execute(t, "status", "--control-plane-only")
	require.NoError(t, err)
	assert.Contains(t, stdout, "not running; nothing left")
	stdout, _, err = execute(t, "status", "--json", "--control-plane-only")
	require.NoError(t, err)
	assert.Contains(t, stdout, "\"running\": false")
	_, _, err = execute(t, "down", "--control-plane-only")
	require.NoError(t, err, "there is nothing to end")
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	inner := exec.CommandContext(t.Context(), "sh", "-c", "exit 7").Run()
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"success":                               {want: 0},
		"any error":                             {err: errors.New("x"), want: 1},
		"a cluster is not possible here":        {err: fmt.Errorf("up: %w", cluster.ErrNotRoot), want: exitNotPossible},
		"the command in the box ended with 7":   {err: execError{inner}, want: 7},
		"a program of the harness ended with 7": {err: fmt.Errorf("build: %w", inner), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, exitCode(test.err))
		})
	}
}
