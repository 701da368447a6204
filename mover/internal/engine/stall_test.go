// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server that falls silent ends the request, one that is merely slow does not.
func TestConnectionsThatStandStillEnd(t *testing.T) {
	t.Parallel()
	// The pieces take longer than the timeout in all, and each far less, also on a machine that has much else to do.
	const timeout, pieces = 4 * time.Second, 45
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			return
		}
		for range pieces {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}))
	t.Cleanup(srv.Close)
	transport := &http.Transport{DialContext: unstalled(new(net.Dialer).DialContext, timeout)}
	t.Cleanup(transport.CloseIdleConnections)
	get := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		require.NoError(t, err)
		res, err := transport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return string(b), err
	}
	_, err := get("/silent")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	body, err := get("/slow")
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x", pieces), body)
}

// Every client that uses the default transport, or a copy of it, has it.
func TestDefaultTransportNoticesSilence(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	transport, ok := http.DefaultTransport.(*http.Transport)
	require.True(t, ok)
	c, err := transport.DialContext(context.Background(), "tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	moving, ok := c.(*movingConn)
	require.True(t, ok)
	assert.Equal(t, stallTimeout, moving.timeout)
}
