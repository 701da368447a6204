// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestHold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at       func(w *world, op string, t time.Duration) error
		wantErr  string
		wantEnd  time.Duration
		wantGone bool
	}{
		"answers keep it": {
			at: func(*world, string, time.Duration) error { return nil },
		},
		"one slow attempt is retried inside the window": {
			at: func(w *world, _ string, t time.Duration) error {
				if t == 2*time.Second {
					return w.slow(5 * time.Second)
				}
				return nil
			},
		},
		"an attempt whose answer never came is not a foreign write": {
			at: func(w *world, op string, t time.Duration) error {
				if op == "update" && t == 2*time.Second {
					w.take("pod-a")
					return errNet
				}
				return nil
			},
		},
		"no answer at all ends it when a standby may first claim, not later": {
			at:      func(w *world, _ string, _ time.Duration) error { return w.slow(5 * time.Second) },
			wantErr: "did not answer for 15s", wantEnd: 15 * time.Second,
		},
		"an outage of eleven seconds is survived by asking": {
			at: func(w *world, _ string, t time.Duration) error {
				if t >= 2*time.Second && t < 13*time.Second {
					return w.slow(time.Second)
				}
				return nil
			},
		},
		"a foreign holder ends it": {
			at: func(w *world, op string, t time.Duration) error {
				if t >= 6*time.Second {
					w.take("pod-b")
				}
				return nil
			},
			wantErr: "pod-b leads", wantEnd: 6 * time.Second,
		},
		"a foreign holder found by asking ends it": {
			at: func(w *world, op string, _ time.Duration) error {
				if op == "update" {
					return w.slow(5 * time.Second)
				}
				w.take("pod-b")
				return nil
			},
			wantErr: "pod-b leads", wantEnd: 14 * time.Second,
		},
		"an empty Lease proves nothing": {
			at: func(w *world, _ string, t time.Duration) error {
				if t >= 6*time.Second {
					w.take("")
				}
				return nil
			},
			wantErr: "nobody holds the Lease", wantEnd: 6 * time.Second,
		},
		"nor does a deleted one": {
			at: func(w *world, _ string, t time.Duration) error {
				if t >= 6*time.Second {
					w.lease = nil
				}
				return nil
			},
			wantErr: "the Lease was deleted", wantEnd: 6 * time.Second,
		},
		"a permission that is taken away ends it": {
			at: func(_ *world, op string, t time.Duration) error {
				if t >= 6*time.Second {
					return apierrors.NewForbidden(leases, "kopiur", fmt.Errorf("cannot %s resource", op))
				}
				return nil
			},
			wantErr: "cannot update resource", wantEnd: 6 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := given()
			e, ctx := w.elector(t)
			require.NoError(t, e.acquire(ctx))
			w.at = func(op string, d time.Duration) error { return tc.at(w, op, d) }
			err := e.hold(ctx)
			if tc.wantErr == "" {
				require.NoError(t, err)
				assert.GreaterOrEqual(t, w.since(), w.end)
				return
			}
			require.ErrorIs(t, err, ErrLost)
			require.ErrorContains(t, err, tc.wantErr)
			assert.LessOrEqual(t, w.since(), tc.wantEnd)
		})
	}
}

// TestNothingIsWrittenAfterAFailedRound is what makes asking a proof.
func TestNothingIsWrittenAfterAFailedRound(t *testing.T) {
	t.Parallel()
	w := given()
	e, ctx := w.elector(t)
	require.NoError(t, e.acquire(ctx))
	w.log = nil
	w.at = func(string, time.Duration) error { return w.slow(3 * time.Second) }
	require.ErrorIs(t, e.hold(ctx), ErrLost)
	asked := false
	for _, line := range w.log {
		asked = asked || line[:3] == "get"
		assert.False(t, asked && line[:3] != "get", "a write after the round failed: %v", w.log)
	}
	assert.True(t, asked, "%v", w.log)
}

// TestAttemptsAreBoundedByTheWindow checks the contexts: what the transport does not end, they do.
func TestAttemptsAreBoundedByTheWindow(t *testing.T) {
	t.Parallel()
	w := given()
	e, ctx := w.elector(t)
	require.NoError(t, e.acquire(ctx))
	bounds := &deadlines{world: w}
	e.leases = bounds
	require.ErrorIs(t, e.hold(ctx), ErrLost)
	require.NotEmpty(t, bounds.left)
	assert.InDelta(t, 6, bounds.left[0].Seconds(), 0.5)
	assert.InDelta(t, 3, bounds.left[1].Seconds(), 0.5, "five seconds and a pause are gone of ten")
}

type deadlines struct {
	*world
	left []time.Duration
}

func (d *deadlines) Update(ctx context.Context, _ *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	end, _ := ctx.Deadline()
	d.left = append(d.left, time.Until(end))
	d.world.left = time.Until(end)
	return nil, d.slow(5 * time.Second)
}

func (d *deadlines) Get(context.Context) (*coordinationv1.Lease, error) {
	return nil, d.slow(5 * time.Second)
}
