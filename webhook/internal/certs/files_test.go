// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

func write(t *testing.T, dir string, m *Material, keys ...string) {
	t.Helper()
	data, err := m.Data()
	require.NoError(t, err)
	for _, k := range keys {
		require.NoError(t, os.WriteFile(filepath.Join(dir, k), data[k], 0o600))
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clk := clocktesting.NewFakeClock(start)
	f := NewFiles(dir, clk, logr.Discard())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	serves := func(want *tls.Certificate) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			got, err := f.GetCertificate(nil)
			require.NoError(c, err)
			assert.True(c, got.Leaf.Equal(want.Leaf))
		}, 10*time.Second, time.Millisecond)
	}
	step := func() {
		require.Eventually(t, clk.HasWaiters, 10*time.Second, time.Millisecond)
		clk.Step(reread)
	}

	require.Eventually(t, func() bool { return f.fault.Load() != nil }, 10*time.Second, time.Millisecond)
	_, err := f.GetCertificate(nil)
	require.EqualError(t, err, "there is no certificate yet")
	assert.Contains(t, f.Missing(), "certificate: read the certificate: ")

	first, second := begin(t, start), begin(t, start.Add(day))
	write(t, dir, first, keyCert, keyKey)
	step()
	serves(first.Certificate())
	assert.Empty(t, f.Missing())

	// Half of a pair that is being replaced changes nothing.
	write(t, dir, second, keyCert)
	step()
	require.Eventually(t, func() bool { return f.fault.Load() != nil }, 10*time.Second, time.Millisecond)
	serves(first.Certificate())
	write(t, dir, second, keyKey)
	step()
	serves(second.Certificate())
	require.NoError(t, os.Remove(filepath.Join(dir, keyKey)))
	step()
	require.Eventually(t, func() bool { return f.fault.Load() != nil }, 10*time.Second, time.Millisecond)
	serves(second.Certificate())
	assert.Empty(t, f.Missing(), "what is served is good as long as it lasts")
}
