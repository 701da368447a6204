// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"fmt"
)

// NamedStep is one idempotent piece of acting on S.
type NamedStep[S any] struct {
	Name string
	Do   func(ctx context.Context, scope S) error
}

// Step makes a NamedStep.
func Step[S any](name string, do func(ctx context.Context, scope S) error) NamedStep[S] {
	return NamedStep[S]{Name: name, Do: do}
}

// Run does the steps in order and stops at the first that returns an error, a Wait and a Stall included. A process that
// is killed between two steps, or inside one, does them all again: each has to find its own work done.
func Run[S any](ctx context.Context, scope S, steps ...NamedStep[S]) error {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := s.Do(ctx, scope); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
