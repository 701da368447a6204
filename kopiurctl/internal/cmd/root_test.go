// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd"
)

func run(t *testing.T, program string, args ...string) (code cli.Code, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	env := &cli.Env{IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, Clock: clock.RealClock{}, Version: "1.2.3"}
	code = cmd.Run(t.Context(), env, program, args)
	return code, out.String(), errOut.String()
}

func TestItIsAPluginUnderItsOtherName(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, "kubectl-kopiur", "snapshot", "now", "--help")
	assert.Equal(t, cli.OK, code)
	assert.Contains(t, out, "kubectl kopiur snapshot now --policy POLICY [flags]")
	_, out, _ = run(t, "kubectl-kopiur.exe", "--version")
	assert.Equal(t, "kubectl kopiur version 1.2.3\n", out)
	_, out, _ = run(t, "kopiurctl", "--version")
	assert.Equal(t, "kopiurctl version 1.2.3\n", out)
}

func TestVerbsThatDoNotExist(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"snapshto":  "error: kopiurctl has no verb snapshto: did you mean snapshot?\n",
		"backup":    "error: kopiurctl has no verb backup: there are ack-deletion, cat, completion, download, logs, ls, maintenance, replication, restore, resume, retention, session, snapshot, snapshots, status, suspend\n",
		"--verbose": "error: unknown flag: --verbose: see kopiurctl --help\n",
	} {
		code, _, errOut := run(t, "kopiurctl", line)
		assert.Equal(t, cli.Usage, code)
		assert.Equal(t, want, errOut)
	}
	code, _, errOut := run(t, "kopiurctl", "snapshots", "lst")
	assert.Equal(t, cli.Usage, code)
	assert.Equal(t, "error: kopiurctl snapshots has no verb lst: did you mean list?\n", errOut)
	code, out, _ := run(t, "kopiurctl", "snapshots")
	assert.Equal(t, cli.OK, code)
	assert.Contains(t, out, "List Snapshots, newest first")
}
