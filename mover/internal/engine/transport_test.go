// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Requests beside one another use connections again instead of opening one each.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var opened sync.Map
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			opened.Store(r.RemoteAddr, true)
			h.ServeHTTP(w, r)
		})
	})
	from := folder(t)
	_, r, _ := filled(t, from, 1)
	st, err := from.open(t.Context())
	require.NoError(t, err)
	fill(t, st, 400)
	m := mirrorTo(Storage{S3: &s})
	m.Parallel = 16
	_, err = r.Mirror(testContext(t), m)
	require.NoError(t, err)
	assert.Greater(t, requests.Load(), int64(400))
	n := 0
	opened.Range(func(any, any) bool { n++; return true })
	assert.Less(t, n, 60, "connections for %d requests", requests.Load())
}
