// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// holes compares the mover with itself: a sparse file, and its data alone. Kopia and restic are there to be seen.
func holes(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	const dense = "mover, without holes"
	type run struct {
		name string
		peer peers.Peer
		set  data.Set
	}
	all := []run{{peers.NameMover, l.Mover, data.Sparse}, {dense, l.Mover, data.SparseDense}, {peers.NameKopia, l.Kopia, data.Sparse}}
	if l.Restic != nil {
		all = append(all, run{peers.NameRestic, l.Restic, data.Sparse})
	}
	var sides []side
	for _, x := range all {
		src, tree, err := l.Source(x.set)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side{x.name, func(ctx context.Context, _ int) (measure.Sample, error) {
			v, err := l.vault(ctx, where{}, tree)
			if err != nil {
				return measure.Sample{}, err
			}
			if err := x.peer.Create(ctx, v); err != nil {
				return measure.Sample{}, err //nolint:wrapcheck // names the command
			}
			s, err := l.timed(ctx, x.peer.Backup(v, src), src)
			if err != nil {
				return s, err
			}
			return s, discard(v)
		}})
	}
	got, err := l.interleave(ctx, r.ID, sides, nil)
	if err != nil {
		return nil, err
	}
	return []report.Row{{
		ID: r.ID, What: r.What + ": " + l.Sizes[r.Set].String(), Value: got.ratio(peers.NameMover, dense),
		Bound: &report.Bound{Budget: 2, Stretch: 1.2}, Sides: got.sides(), Note: "restored and compared by M7/D5",
	}}, nil
}
