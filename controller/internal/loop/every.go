// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Every sweeps after each period until the context ends, and logs what that did: what names the things that are swept. A
// sweep that fails is left to the next one.
func Every(ctx context.Context, c clock.WithTicker, period time.Duration, what string, sweep func(context.Context) (int, error)) error {
	tick := c.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
		if n, err := sweep(ctx); err != nil {
			logf.FromContext(ctx).Error(err, "Leaving "+what+" to the next sweep")
		} else if n > 0 {
			logf.FromContext(ctx).Info("Deleted "+what, "count", n)
		}
	}
}
