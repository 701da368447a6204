// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "net/http"

// idleConnections is how many connections to one store are kept for the next request.
const idleConnections = 64

// Kopia's S3 client is a copy of Go's default transport, which keeps two idle connections per host: with more requests
// than that at a time most of them begin with a connection, and a TLS handshake, of their own.
func init() {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = idleConnections
		t.DialContext = unstalled(t.DialContext, stallTimeout)
	}
}
