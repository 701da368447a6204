// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// minPause bounds how often is asked.
const minPause = 100 * time.Millisecond

// errRound is a round in which no attempt came through.
var errRound = errors.New("no renewal came through")

// hold renews until the context ends (nil) or leadership is lost (ErrLost).
func (e *Elector) hold(ctx context.Context) error {
	for {
		if e.sleep(ctx, e.config.RenewPeriod) != nil {
			return nil //nolint:nilerr // the work ended
		}
		err := e.round(ctx)
		for errors.Is(err, errRound) {
			if err = e.reconfirm(ctx); err == nil {
				// Still ours. The Lease itself was not renewed yet, so the next round comes at once.
				err = e.round(ctx)
			}
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the work ended in the middle of an attempt
		default:
			return err
		}
	}
}

// round tries to renew within one window.
func (e *Elector) round(ctx context.Context) error {
	end := e.clock.Now().Add(e.config.RenewDeadline)
	if over := e.renewed.Add(e.config.LeaseDuration); over.Before(end) {
		end = over // after a reconfirmation less is left than a whole window
	}
	for {
		left := end.Sub(e.clock.Now())
		if left <= 0 {
			return errRound
		}
		err := e.renew(ctx, min(attemptTimeout, left))
		switch {
		case err == nil, errors.Is(err, ErrLost):
			return err
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // the caller knows
		case isForbidden(err):
			return fmt.Errorf("%w: %w", ErrLost, forbidden(err))
		}
		e.log.Info("Retrying to renew the Lease", "reason", err.Error())
		left = end.Sub(e.clock.Now())
		if left <= e.config.RetryPeriod {
			// No attempt would follow. The rest of the window is better spent on asking.
			return errRound
		}
		if err := e.sleep(ctx, e.config.RetryPeriod); err != nil {
			return err
		}
	}
}

// renew is one attempt.
func (e *Elector) renew(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent := e.clock.Now()
	l, err := e.leases.Update(ctx, e.claim(e.held, false))
	switch {
	case err == nil:
		e.held, e.renewed = l, sent
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the Lease was deleted", ErrLost)
	case !apierrors.IsConflict(err):
		return err //nolint:wrapcheck // judged by the caller
	}
	// Somebody wrote: another replica, or we ourselves in an attempt whose answer never came.
	return e.confirm(ctx)
}

// confirm reads the Lease. nil: it is ours, and its present version is held.
func (e *Elector) confirm(ctx context.Context) error {
	l, err := e.leases.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the Lease was deleted", ErrLost)
	case isForbidden(err):
		return fmt.Errorf("%w: %w", ErrLost, forbidden(err))
	case err != nil:
		return err //nolint:wrapcheck // judged by the caller
	}
	switch holder := holderOf(l); holder {
	case e.identity:
		e.held = l
		return nil
	case "":
		return fmt.Errorf("%w: nobody holds the Lease any more", ErrLost)
	default:
		return fmt.Errorf("%w: %s leads", ErrLost, holder)
	}
}

// reconfirm asks, without writing, whether the Lease is still ours, until the moment another replica may first claim it:
// one lease duration after the last renewal that came through.
func (e *Elector) reconfirm(ctx context.Context) error {
	end := e.renewed.Add(e.config.LeaseDuration)
	e.log.Info("Asking whether the Lease is still ours", "left", end.Sub(e.clock.Now()).String())
	for {
		left := end.Sub(e.clock.Now())
		if left <= 0 {
			return fmt.Errorf("%w: the API server did not answer for %s", ErrLost, e.config.LeaseDuration)
		}
		attempt, cancel := context.WithTimeout(ctx, min(attemptTimeout, left))
		err := e.confirm(attempt)
		cancel()
		switch {
		case err == nil:
			e.log.Info("Leading on, nobody else has claimed")
			return nil
		case errors.Is(err, ErrLost):
			return err
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // the caller knows
		}
		// Shorter and shorter, so that what little is left is used: the first answer settles it.
		left = max(end.Sub(e.clock.Now()), 0)
		if err := e.sleep(ctx, min(e.config.RetryPeriod, max(left/2, minPause), left)); err != nil {
			return err
		}
	}
}
