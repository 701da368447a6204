// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// TestMain makes the test binary be the launcher, and a program that costs something.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == measure.LaunchVerb:
		if err := measure.Launch(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 2 && os.Args[1] == "eat":
		b := make([]byte, 64<<20)
		for i := range b {
			b[i] = byte(i)
		}
		fmt.Fprintln(os.Stdout, "ate", b[len(b)-1])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runner(t *testing.T) measure.Runner {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return measure.Runner{Self: self, Scratch: t.TempDir()}
}

func TestARunSaysWhatItCost(t *testing.T) {
	t.Parallel()
	r := runner(t)
	// What the parent has used must not count as the child's.
	ballast := make([]byte, 256<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	said := ""
	s, err := r.Run(t.Context(), measure.Command{Path: r.Self, Args: []string{"eat"}, Check: func(output []byte) error {
		said = string(output)
		return nil
	}})
	require.NoError(t, err)
	assert.Equal(t, "ate 255\n", said)
	assert.Positive(t, s.Wall)
	assert.Positive(t, s.CPU())
	assert.Greater(t, s.PeakRSS, int64(64<<20))
	s, err = r.Run(t.Context(), measure.Command{Path: "/bin/true"})
	require.NoError(t, err)
	assert.Less(t, s.PeakRSS, int64(128<<20))
	assert.EqualValues(t, 1, ballast[0])
}

func TestARunThatDidNothingIsAnError(t *testing.T) {
	t.Parallel()
	r := runner(t)
	empty := errors.New("stored nothing")
	_, err := r.Run(t.Context(), measure.Command{Path: "/bin/true", Check: func([]byte) error { return empty }})
	require.ErrorIs(t, err, empty)

	_, err = r.Run(t.Context(), measure.Command{Path: "/bin/bash", Args: []string{"-c", "echo no room >&2; exit 3"}})
	require.ErrorContains(t, err, "exit code 3")
	require.ErrorContains(t, err, "no room", "it says what the program said")

	_, err = r.Run(t.Context(), measure.Command{Path: "/nowhere"})
	require.ErrorContains(t, err, "nowhere")

	r.MayFail = true
	s, err := r.Run(t.Context(), measure.Command{Path: "/bin/bash", Args: []string{"-c", "kill -KILL $$"}})
	require.NoError(t, err)
	assert.Equal(t, "killed", s.Killed)
}

func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := runner(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.Run(ctx, measure.Command{Path: "/bin/sleep", Args: []string{"600"}})
	require.Error(t, err)
}
