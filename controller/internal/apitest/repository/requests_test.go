// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// wire is all that a controller asked of the API server.
type wire struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []*http.Request
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	return w.next.RoundTrip(r) //nolint:wrapcheck // passed on as it is
}

func (w *wire) all() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*http.Request(nil), w.requests...)
}

func watches(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// TestWhatTheControllerAsksFor: it never reads the body of a Secret (product decision D2), starts with few watches
// (budget C3), and asks for nothing at rest (E-3).
func TestWhatTheControllerAsksFor(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	w := &wire{}
	env.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		return w
	})
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list := jobs(t, env, env.Namespace)
		require.Len(c, list, 1)
		assert.NotNil(c, list[0].Spec.TTLSecondsAfterFinished)
	}, testenv.Wait, testenv.Tick)
	env.Quiet(r, time.Second)

	kinds, ofSecrets := map[string]bool{}, 0
	for _, req := range w.all() {
		if watches(req) {
			kinds[req.URL.Path] = true
		}
		if !strings.Contains(req.URL.Path, "/secrets") {
			continue
		}
		ofSecrets++
		assert.Equal(t, http.MethodGet, req.Method)
		// The API server answers with the first that it knows, and it has known this for years.
		first, _, _ := strings.Cut(req.Header.Get("Accept"), ",")
		assert.Contains(t, first, "as=PartialObjectMetadata", "%s would return the Secret's body", req.URL.Path)
	}
	assert.Positive(t, ofSecrets)
	assert.LessOrEqual(t, len(kinds), 20, "%v", kinds)

	before := len(w.all())
	env.Quiet(r, 3*time.Second)
	for _, req := range w.all()[before:] {
		assert.True(t, watches(req), "%s %s at rest", req.Method, req.URL.Path)
	}
}
