// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSecondCounterIsNeverAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app{}.lockstep(ctx, []string{one, two}) }()
	number := func(name string) int {
		b, err := os.ReadFile(name)
		if err != nil || len(b) == 0 {
			return -1
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		require.NoError(t, err, "never half a number")
		return n
	}
	for last := -1; last < 100; {
		second := number(two)
		assert.LessOrEqual(t, second, number(one))
		last = second
	}
	cancel()
	require.NoError(t, <-done)
	assert.Equal(t, number(one), number(two))
}
