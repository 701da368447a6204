// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var missing atomic.Pointer[string]
	missing.Store(new("certificate: not made yet"))
	s, err := Start(t.Context(), "health", "127.0.0.1:0", Health(func() string { return *missing.Load() }), nil)
	require.NoError(t, err)
	url := "http://" + s.Addr().String()
	code, _ := get(t, url+"/healthz")
	assert.Equal(t, http.StatusOK, code)
	code, body := get(t, url+"/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "certificate: not made yet\n", body)
	missing.Store(new(""))
	code, _ = get(t, url+"/readyz")
	assert.Equal(t, http.StatusOK, code)
	code, _ = get(t, url+"/metrics")
	assert.Equal(t, http.StatusOK, code)
	_, err = Start(t.Context(), "health", s.Addr().String(), http.NotFoundHandler(), nil)
	require.ErrorContains(t, err, "serve health: ", "a taken address is found at once")
	require.NoError(t, s.Close(t.Context()))
}

func TestARequestInFlightIsAnswered(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s, err := Start(t.Context(), "admission", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = w.Write([]byte("done"))
	}), nil)
	require.NoError(t, err)
	answered := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+s.Addr().String(), http.NoBody)
		if err != nil {
			answered <- err.Error()
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answered <- string(body)
	}()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	select {
	case err := <-closed:
		t.Errorf("the server ended under a request: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(leave)
	require.NoError(t, <-closed)
	assert.Equal(t, "done", <-answered)
}
