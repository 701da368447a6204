// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

var (
	began  = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	errNet = errors.New("dial tcp: connection refused")
)

// world is a Lease on an API server, a clock, and what goes wrong when.
type world struct {
	clock *testclock.FakeClock
	lease *coordinationv1.Lease
	// at runs before each request and may take time, change the Lease or fail it.
	at  func(op string, t time.Duration) error
	log []string
	end time.Duration
	// left is what the present request's context leaves.
	left time.Duration
}

func (w *world) since() time.Duration { return w.clock.Now().Sub(began) }

func (w *world) request(ctx context.Context, op string) error {
	w.left = time.Hour
	if end, ok := ctx.Deadline(); ok {
		w.left = time.Until(end).Round(time.Second)
	}
	t := w.since()
	w.log = append(w.log, fmt.Sprintf("%s@%s", op, t))
	if w.at == nil {
		return nil
	}
	return w.at(op, t)
}

func (w *world) Get(ctx context.Context) (*coordinationv1.Lease, error) {
	if err := w.request(ctx, "get"); err != nil {
		return nil, err
	}
	if w.lease == nil {
		return nil, apierrors.NewNotFound(leases, "kopiur")
	}
	return w.lease.DeepCopy(), nil
}

func (w *world) Create(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if err := w.request(ctx, "create"); err != nil {
		return nil, err
	}
	l.ResourceVersion = "1"
	w.lease = l.DeepCopy()
	return l, nil
}

func (w *world) Update(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if err := w.request(ctx, "update"); err != nil {
		return nil, err
	}
	if w.lease == nil {
		return nil, apierrors.NewNotFound(leases, "kopiur")
	}
	if l.ResourceVersion != w.lease.ResourceVersion {
		return nil, apierrors.NewConflict(leases, "kopiur", errors.New("old"))
	}
	w.put(l)
	return w.lease.DeepCopy(), nil
}

func (w *world) put(l *coordinationv1.Lease) {
	n, _ := strconv.Atoi(w.lease.ResourceVersion)
	w.lease = l.DeepCopy()
	w.lease.ResourceVersion = strconv.Itoa(n + 1)
}

// take lets another replica hold the Lease.
func (w *world) take(who string) {
	l := w.lease.DeepCopy()
	l.Spec.HolderIdentity = &who
	w.put(l)
}

// slow fails a request after d, or when its context ends.
func (w *world) slow(d time.Duration) error {
	w.clock.Step(min(d, w.left))
	return errNet
}

// elector makes one whose sleeps move the clock and that is told to end at w.end.
func (w *world) elector(t *testing.T) (*Elector, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	e, err := New(w, DefaultConfig(), "pod-a", w.clock, logr.Discard())
	require.NoError(t, err)
	e.sleep = func(ctx context.Context, d time.Duration) error {
		w.clock.Step(d)
		if w.since() >= w.end {
			cancel()
		}
		return ctx.Err()
	}
	return e, ctx
}

func given() *world {
	return &world{clock: testclock.NewFakeClock(began), end: time.Minute}
}

func heldBy(who string) *world {
	w := given()
	seconds := int32(15)
	w.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds}}
	w.lease.ResourceVersion = "1"
	return w
}

func TestAcquire(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		w        *world
		at       func(w *world, op string, t time.Duration) error
		wantLead bool
		wantAt   time.Duration
		wantErr  string
	}{
		"a missing Lease is created":                                 {w: given(), wantLead: true},
		"an empty one is claimed at once":                            {w: heldBy(""), wantLead: true},
		"our own, from before a restart, as well":                    {w: heldBy("pod-a"), wantLead: true},
		"a foreign one once it has stayed the same for its duration": {w: heldBy("pod-b"), wantLead: true, wantAt: 15 * time.Second},
		"one that is renewed is never claimed": {
			w:  heldBy("pod-b"),
			at: func(w *world, op string, _ time.Duration) error { w.take("pod-b"); return nil },
		},
		"one that is deleted under its leader is left alone as long as it was good": {
			w: heldBy("pod-b"),
			at: func(w *world, _ string, t time.Duration) error {
				if t == 4*time.Second {
					w.lease = nil
				}
				return nil
			},
			wantLead: true, wantAt: 15 * time.Second,
		},
		"a claim that somebody else wins": {
			w: heldBy(""),
			at: func(w *world, op string, _ time.Duration) error {
				if op == "update" {
					w.take("pod-b")
					w.at = func(string, time.Duration) error { w.take("pod-b"); return nil }
				}
				return nil
			},
		},
		"an API server that does not answer is asked again": {
			w: heldBy(""),
			at: func(w *world, _ string, t time.Duration) error {
				if t < 5*time.Second {
					return w.slow(time.Second)
				}
				return nil
			},
			wantLead: true, wantAt: 6 * time.Second,
		},
		"a missing permission ends the process and names the verb": {
			w: given(),
			at: func(_ *world, op string, _ time.Duration) error {
				return apierrors.NewForbidden(leases, "kopiur", fmt.Errorf("cannot %s resource", op))
			},
			wantErr: "cannot get resource",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tc.w
			if tc.at != nil {
				w.at = func(op string, d time.Duration) error { return tc.at(w, op, d) }
			}
			e, ctx := w.elector(t)
			err := e.acquire(ctx)
			switch {
			case tc.wantLead:
				require.NoError(t, err)
				assert.Equal(t, "pod-a", holderOf(w.lease))
				assert.Equal(t, tc.wantAt, w.since())
			case tc.wantErr != "":
				require.ErrorContains(t, err, tc.wantErr)
			default:
				require.ErrorIs(t, err, context.Canceled, "it stood by until the end")
			}
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("the Lease is released when the work has ended", func(t *testing.T) {
		t.Parallel()
		w := given()
		e, err := New(w, DefaultConfig(), "pod-a", w.clock, logr.Discard())
		require.NoError(t, err)
		require.NoError(t, e.Run(t.Context(), func(context.Context) error {
			assert.Equal(t, "pod-a", holderOf(w.lease))
			return nil
		}))
		assert.Empty(t, holderOf(w.lease))
	})
	t.Run("a lost Lease stops the work and is not released", func(t *testing.T) {
		t.Parallel()
		w := given()
		e, _ := w.elector(t)
		w.at = func(op string, d time.Duration) error {
			if d >= 4*time.Second {
				w.take("pod-b")
			}
			return nil
		}
		stopped := false
		err := e.Run(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			stopped = true
			return nil
		})
		require.ErrorIs(t, err, ErrLost)
		assert.True(t, stopped)
		assert.Equal(t, "pod-b", holderOf(w.lease))
	})
	t.Run("told to end before it led is no error", func(t *testing.T) {
		t.Parallel()
		w := heldBy("pod-b")
		e, ctx := w.elector(t)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.NoError(t, e.Run(ended, func(context.Context) error { return errors.New("must not run") }))
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	for name, change := range map[string]func(*Config){
		"period and deadline must be shorter than the lease": func(c *Config) { c.RenewDeadline = 13 * time.Second },
		"nothing may be zero":                                func(c *Config) { c.RetryPeriod = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			change(&c)
			require.Error(t, c.Validate())
		})
	}
}
