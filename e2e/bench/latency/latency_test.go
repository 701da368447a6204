// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package latency_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/latency"
)

// clock is a time that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
}

// echo answers every byte with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func started(t *testing.T, to string, c *clock) (*latency.Proxy, string) {
	t.Helper()
	p := &latency.Proxy{To: to, Delay: 20 * time.Millisecond, Now: c.Now, Sleep: c.Sleep}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return p, l.Addr().String()
}

func TestARequestTakesTheDelayAndItsAnswerNone(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p, address := started(t, echo(t), c)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	answer := make([]byte, 4)
	for range 3 {
		_, err = conn.Write([]byte("ping"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		assert.Equal(t, "ping", string(answer))
	}
	assert.Equal(t, []time.Duration{20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond}, c.slept)
	assert.EqualValues(t, 1, p.Connections.Load())
}

func TestAllOfItArrivesAndTheEndToo(t *testing.T) {
	t.Parallel()
	c := &clock{}
	_, address := started(t, echo(t), c)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	const size = 3 << 20
	go func() {
		_, _ = conn.Write(make([]byte, size))
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	n, err := io.Copy(io.Discard, conn)
	require.NoError(t, err)
	assert.EqualValues(t, size, n)
}

func TestAServerThatIsGoneEndsTheConnection(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := l.Addr().String()
	require.NoError(t, l.Close())
	_, address := started(t, gone, &clock{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}
