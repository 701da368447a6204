// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// startSupervisor serves on a socket, as in a box. Reaping takes every child of this test program, so there is one
// supervisor for the package.
func startSupervisor(t *testing.T) (ask func(box.Request) ([]box.Process, error)) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	s := newSupervisor()
	go s.reap()
	go s.serve(listener)
	return func(q box.Request) ([]box.Process, error) { return box.Ask(t.Context(), socket, q) }
}

func TestSupervisor(t *testing.T) {
	ask := startSupervisor(t)
	log := filepath.Join(t.TempDir(), "log")
	start := func(name string, args ...string) error {
		_, err := ask(box.Request{Start: &box.Start{Name: name, Args: args, Env: []string{"GREETING=hello"}, Log: log}})
		return err
	}
	ended := func(name, how string) {
		t.Helper()
		assert.EventuallyWithT(t, func(c *assert.CollectT) {
			all, err := ask(box.Request{})
			require.NoError(c, err)
			for _, p := range all {
				if p.Name == name {
					assert.False(c, p.Running)
					assert.Equal(c, how, p.Exit)
				}
			}
		}, 10*time.Second, 10*time.Millisecond)
	}

	// A program's end is noticed, its output is in its log, and its name can be used again.
	require.NoError(t, start("brief", "sh", "-c", "echo $GREETING; exit 3"))
	ended("brief", "exit code 3")
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(content))
	require.NoError(t, start("brief", "true"))
	ended("brief", "exit code 0")

	// One that runs is neither started twice nor hard to end.
	require.NoError(t, start("long", "sleep", "60"))
	require.ErrorContains(t, start("long", "sleep", "60"), "runs already")
	_, err = ask(box.Request{Stop: "long"})
	require.NoError(t, err)
	ended("long", "signal 15 (terminated)")

	// Mistakes come back as errors.
	require.ErrorContains(t, start("none", "/no/such/program"), "start none")
	require.ErrorContains(t, start("empty"), "no program given")
	_, err = ask(box.Request{Stop: "stranger"})
	require.ErrorContains(t, err, "no process named")

	all, err := ask(box.Request{})
	require.NoError(t, err)
	assert.Len(t, all, 2, "what never started is not listed")
}
