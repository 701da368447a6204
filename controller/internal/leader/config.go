// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"errors"
	"fmt"
	"time"
)

// Config is the timings of the election.
type Config struct {
	// LeaseDuration is how long a Lease is good after its last renewal.
	LeaseDuration time.Duration
	// RenewDeadline is the window of one round of renewals.
	RenewDeadline time.Duration
	// RenewPeriod is the pause between rounds, outside the window.
	RenewPeriod time.Duration
	// RetryPeriod is the pause between attempts.
	RetryPeriod time.Duration
}

// DefaultConfig is 15, 10, 2 and 2 seconds.
func DefaultConfig() Config {
	return Config{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RenewPeriod: 2 * time.Second, RetryPeriod: 2 * time.Second}
}

// attemptTimeout bounds one request of a round. It is larger than the client's read timeout, so that the transport's
// error comes first and closes the connection.
const attemptTimeout = 6 * time.Second

// Validate refuses timings under which a replica could still work when another one may claim.
func (c Config) Validate() error {
	if c.LeaseDuration < time.Second || c.RenewDeadline <= 0 || c.RenewPeriod <= 0 || c.RetryPeriod <= 0 {
		return errors.New("leader election: all timings must be positive, and the lease at least a second")
	}
	if c.RenewPeriod+c.RenewDeadline >= c.LeaseDuration {
		return fmt.Errorf("leader election: renew period %s and renew deadline %s must together be shorter than the lease of %s: a replica has to know that it lost before another one may claim",
			c.RenewPeriod, c.RenewDeadline, c.LeaseDuration)
	}
	return nil
}
