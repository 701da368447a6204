// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// writer records what the sink sends; block holds requests until it is closed.
type writer struct {
	mu      sync.Mutex
	created []*eventsv1.Event
	patched []string
	gone    bool
	block   chan struct{}
}

func (w *writer) Create(ctx context.Context, _ string, e *eventsv1.Event) error {
	if w.block != nil {
		select {
		case <-w.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created = append(w.created, e)
	return nil
}

func (w *writer) Patch(_ context.Context, _, _ string, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, "e")
	}
	w.patched = append(w.patched, string(body))
	return nil
}

// settle waits for the events in flight and lets others follow.
func (s *Sink) settle() {
	s.drain()
	for range sinkPermits {
		<-s.permits
	}
}

// J-7.
func TestSinkBuildsWhatTheAPIAccepts(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := NewSink(w, testclock.NewFakePassiveClock(later), "pod-1")
	s.Publish(settled(), Warning("R", "Bootstrap", "%s", strings.Repeat("é", 2000)))
	s.Publish(&kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}, Normal("R", "Bootstrap", "n"))
	s.settle()
	require.Len(t, w.created, 2)
	for _, e := range w.created {
		assert.LessOrEqual(t, len(e.Note), 1024)
		assert.True(t, utf8.ValidString(e.Note))
		assert.NotEmpty(t, e.Name)
		if e.Regarding.Kind == "ClusterRepository" {
			assert.Equal(t, "default", e.Namespace)
		} else {
			assert.Equal(t, "apps", e.Namespace)
		}
	}
}

func TestSinkCountsRepeatsUp(t *testing.T) {
	t.Parallel()
	w := &writer{}
	clk := testclock.NewFakePassiveClock(later)
	s := NewSink(w, clk, "pod-1")
	publish := func() {
		s.Publish(settled(), Warning("R", "A", "n"))
		s.settle()
	}
	publish()
	publish()
	publish()
	require.Len(t, w.created, 1)
	require.Len(t, w.patched, 2)
	assert.Contains(t, w.patched[1], `"count":3`)

	w.gone = true
	publish()
	assert.Len(t, w.created, 2, "an event that expired is told anew")

	clk.SetTime(later.Add(time.Hour))
	publish()
	assert.Len(t, w.created, 3, "after a while it is a new event")
}

func TestSinkDropsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	w := &writer{block: make(chan struct{})}
	s := NewSink(w, testclock.NewFakePassiveClock(later), "pod-1")
	before := testutil.ToFloat64(failureEventsDropped.WithLabelValues(dropSaturated))
	for range sinkPermits + 5 {
		s.Publish(settled(), Warning("R", "A", "n"))
	}
	assert.InDelta(t, 5, testutil.ToFloat64(failureEventsDropped.WithLabelValues(dropSaturated))-before, 0)
	close(w.block)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Start(ctx), "it ends when those in flight are done")
	assert.Equal(t, sinkPermits, len(w.created)+len(w.patched))
	s.Publish(settled(), Warning("R", "A", "n"))
	assert.Equal(t, sinkPermits, len(w.created)+len(w.patched), "what comes after the end is dropped")
}

func TestMetricsAreWellFormed(t *testing.T) {
	t.Parallel()
	problems, err := testutil.CollectAndLint(reconciliations)
	require.NoError(t, err)
	assert.Empty(t, problems)
	problems, err = testutil.CollectAndLint(reconcileErrors)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestIsTransport(t *testing.T) {
	t.Parallel()
	assert.False(t, IsTransport(errors.New("x")))
	assert.False(t, IsTransport(apierrors.NewForbidden(gr, "n", errors.New("x"))))
}
