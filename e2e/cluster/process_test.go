// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProcessIsKnownByItsBirth(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "sleep.log")
	p, err := launch("sleep", log, "X=1", []string{"sleep", "60"}, nil, &syscall.SysProcAttr{Setsid: true})
	require.NoError(t, err)
	assert.True(t, p.alive())
	impostor := p
	impostor.Birth = "1"
	assert.False(t, impostor.alive(), "another process has the number now")
	require.NoError(t, impostor.end(t.Context()), "and is not touched")
	assert.True(t, p.alive())

	require.NoError(t, p.end(t.Context()))
	assert.False(t, p.alive())
	require.NoError(t, p.end(t.Context()), "ending twice is fine")
}

func TestUntilSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	err := until(t.Context(), 60*time.Millisecond, "a miracle", func(context.Context) (bool, error) { return false, nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "a miracle")

	broken := errors.New("broken")
	err = until(t.Context(), time.Minute, "x", func(context.Context) (bool, error) { return false, broken })
	assert.ErrorIs(t, err, broken)
}

func TestAComponentsErrorShowsTheEndOfItsLog(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "x.log")
	lines := strings.Repeat("early\n", 20000) + "the reason\n"
	require.NoError(t, os.WriteFile(log, []byte(lines), 0o600))
	err := &ComponentError{Component: "kubelet", Log: log, Err: errors.New("ended")}
	assert.Contains(t, err.Error(), "kubelet: ended")
	assert.Contains(t, err.Error(), log)
	assert.True(t, strings.HasSuffix(err.Error(), "the reason"))
	assert.Less(t, len(err.Error()), 1000)
}

func TestALockKeepsTheSecondWaiting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "below", "lock")
	unlock, err := lockFile(t.Context(), path, func() { assert.Fail(t, "the first waits for nobody") })
	require.NoError(t, err)
	waited := false
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = lockFile(ctx, path, func() { waited = true })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, waited)
	unlock()
	unlock, err = lockFile(t.Context(), path, func() {})
	require.NoError(t, err)
	unlock()
}
