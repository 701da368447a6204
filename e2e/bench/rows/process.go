// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// DeriveVerb is the first argument that makes this program derive a key and end.
const DeriveVerb = "derive"

func size(_ context.Context, l *Lab, r Row) ([]report.Row, error) {
	st, err := os.Stat(l.Mover.Path)
	if err != nil {
		return nil, fmt.Errorf("look at the mover: %w", err)
	}
	return []report.Row{{
		ID: r.ID, What: r.What, Bound: &report.Bound{Budget: 60 * mib, Stretch: 45 * mib},
		Value: report.Value{Unit: report.Bytes, Spread: measure.Of([]float64{float64(st.Size())})},
	}}, nil
}

var errFound = errors.New("an empty repository has a snapshot")

// open compares a mover that only asks a question with a process that only derives the key of the repository.
func open(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	v, err := l.vault(ctx, where{}, data.Tree{})
	if err != nil {
		return nil, err
	}
	if err := l.Mover.Create(ctx, v); err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	ask := work.Operation{Resolve: &work.Resolve{Identity: peers.Identity}}
	const derivation = "key derivation"
	few := l.Rounds
	l.Rounds = max(l.Rounds, 10) // a third of a second each
	defer func() { l.Rounds = few }()
	got, err := l.interleave(ctx, r.ID, []side{
		{peers.NameMover, func(ctx context.Context, _ int) (measure.Sample, error) {
			return l.timed(ctx, l.Mover.Run(v, ask, func(r work.Result) error {
				if r.Resolve.Resolution != work.ResolutionAbsent {
					return errFound
				}
				return nil
			}), v.Dir)
		}},
		{derivation, func(ctx context.Context, _ int) (measure.Sample, error) {
			return l.timed(ctx, measure.Command{Path: l.Runner.Self, Args: []string{DeriveVerb}})
		}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return []report.Row{{
		ID: r.ID, What: r.What, Value: got.ratio(peers.NameMover, derivation), Bound: &report.Bound{Budget: 1.3, Stretch: 1.1}, Sides: got.sides(),
	}}, discard(v)
}
