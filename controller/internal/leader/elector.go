// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// ErrLost is returned when this replica may not work any more.
var ErrLost = errors.New("leadership lost")

// Leases reads and writes the one Lease of the election.
type Leases interface {
	Get(ctx context.Context) (*coordinationv1.Lease, error)
	Create(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error)
	Update(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Elector takes part in one election.
type Elector struct {
	leases   Leases
	config   Config
	identity string
	clock    clock.PassiveClock
	log      logr.Logger
	sleep    func(ctx context.Context, d time.Duration) error

	// held is the Lease as we last wrote or confirmed it, and renewed when that write was sent.
	held    *coordinationv1.Lease
	renewed time.Time
}

// New makes an Elector. identity must be unique among live replicas: the pod's name.
func New(l Leases, c Config, identity string, clk clock.WithTicker, log logr.Logger) (*Elector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if identity == "" {
		return nil, errors.New("leader election: this replica has no name")
	}
	return &Elector{
		leases: l, config: c, identity: identity, clock: clk, log: log.WithName("leader"),
		sleep: func(ctx context.Context, d time.Duration) error {
			t := clk.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // it is only looked at for being one
			case <-t.C():
				return nil
			}
		},
	}, nil
}

// Run waits for leadership, works until the context ends or leadership is lost, and releases the Lease when the work has
// ended. It renews also while the work winds down, so that no other replica starts beside it. A nil error means that the
// context ended; ErrLost that the process has to end.
func (e *Elector) Run(ctx context.Context, work func(ctx context.Context) error) error {
	if err := e.acquire(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it led
		}
		return err
	}
	e.log.Info("Leading", "identity", e.identity)
	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- work(workCtx) }()

	// The election outlives the order to end: the work does, too.
	renewCtx, endRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer endRenewing()
	lost := make(chan error, 1)
	go func() { lost <- e.hold(renewCtx) }()

	select {
	case err := <-ended:
		endRenewing()
		if gone := <-lost; gone != nil {
			return errors.Join(err, gone) // not ours any more, so not ours to release
		}
		e.release(ctx)
		return err
	case err := <-lost:
		stop()
		return errors.Join(err, <-ended)
	}
}

// acquire returns when this replica leads.
func (e *Elector) acquire(ctx context.Context) error {
	var seen observation
	for {
		wait, err := e.try(ctx, &seen)
		switch {
		case err == nil && wait == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // the caller knows
		case isForbidden(err):
			return forbidden(err)
		case err != nil:
			e.log.Info("Retrying to claim the Lease", "reason", err.Error())
			wait = e.config.RetryPeriod
		}
		if err := e.sleep(ctx, min(wait, e.config.RetryPeriod)); err != nil {
			return err
		}
	}
}

// observation is a foreign Lease and when this replica first saw it like that. Clocks of other machines are not compared
// with ours: only how long a Lease stays the same counts.
type observation struct {
	version string
	at      time.Time
	good    time.Duration
}

// try claims the Lease if that is allowed; otherwise it says how long to wait.
func (e *Elector) try(ctx context.Context, seen *observation) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	sent := e.clock.Now()
	l, err := e.leases.Get(ctx)
	if apierrors.IsNotFound(err) {
		if left := seen.at.Add(seen.good).Sub(e.clock.Now()); seen.version != "" && left > 0 {
			// Deleted under a leader, which finds out by its next renewal: until then it works.
			return left, nil
		}
		l, err = e.leases.Create(ctx, e.claim(&coordinationv1.Lease{}, true))
		if err != nil {
			return 0, fmt.Errorf("create the Lease: %w", err)
		}
		e.held, e.renewed = l, sent
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get the Lease: %w", err)
	}
	holder := holderOf(l)
	if holder != "" && holder != e.identity {
		if seen.version != l.ResourceVersion {
			*seen = observation{l.ResourceVersion, sent, durationOf(l, e.config.LeaseDuration)}
			e.log.V(1).Info("Standing by", "leader", holder)
		}
		if left := seen.at.Add(seen.good).Sub(e.clock.Now()); left > 0 {
			return left, nil
		}
	}
	l, err = e.leases.Update(ctx, e.claim(l, holder != e.identity))
	if err != nil {
		return 0, fmt.Errorf("claim the Lease: %w", err)
	}
	e.held, e.renewed = l, sent
	return 0, nil
}

// claim is the Lease in our name.
func (e *Elector) claim(l *coordinationv1.Lease, transition bool) *coordinationv1.Lease {
	l = l.DeepCopy()
	now := metav1.NewMicroTime(e.clock.Now())
	seconds := int32(e.config.LeaseDuration / time.Second) //nolint:gosec // seconds of a duration below a day
	l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &e.identity, &now, &seconds
	if transition {
		var n int32
		if l.Spec.LeaseTransitions != nil {
			n = *l.Spec.LeaseTransitions + 1
		}
		l.Spec.AcquireTime, l.Spec.LeaseTransitions = &now, &n
	}
	return l
}

// release empties the Lease, so that a standby need not wait for its end.
func (e *Elector) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	l := e.held.DeepCopy()
	empty, second := "", int32(1)
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &empty, &second
	if _, err := e.leases.Update(ctx, l); err != nil {
		e.log.Info("Leaving the Lease to run out", "reason", err.Error())
	}
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func durationOf(l *coordinationv1.Lease, def time.Duration) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second
	}
	return def
}

func isForbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// forbidden says which permission is missing. The API server's own message names verb, resource and namespace.
func forbidden(err error) error {
	return fmt.Errorf("leader election needs get, create and update on leases.coordination.k8s.io in its namespace: %w", err)
}
