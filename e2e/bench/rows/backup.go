// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"
	"os"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// where makes empty stores, on the disk or in an S3 bucket behind the latency.
type where struct {
	s3 bool
}

type body func(ctx context.Context, l *Lab, r Row, w where) ([]report.Row, error)

func local(b body) func(context.Context, *Lab, Row) ([]report.Row, error) {
	return func(ctx context.Context, l *Lab, r Row) ([]report.Row, error) { return b(ctx, l, r, where{}) }
}

func faraway(b body) func(context.Context, *Lab, Row) ([]report.Row, error) {
	return func(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
		if l.Gateway == "" {
			l.LeftOut(r.ID, "there is no S3 server (hack/tool versitygw)")
			return nil, nil
		}
		return b(ctx, l, r, where{s3: true})
	}
}

// vault is a place for a store that is not there yet, and a home.
func (l *Lab) vault(ctx context.Context, w where, want data.Tree) (*peers.Vault, error) {
	v := &peers.Vault{Home: l.fresh("home"), Want: want, Place: peers.Place{Dir: l.fresh("store")}}
	if w.s3 {
		b, dir, err := l.bucket(ctx)
		if err != nil {
			return nil, err
		}
		v.Place = peers.Place{Dir: dir, Bucket: b}
	}
	if err := os.MkdirAll(v.Home, 0o750); err != nil {
		return nil, fmt.Errorf("make a home: %w", err)
	}
	return v, nil
}

func discard(v *peers.Vault) error {
	if err := remove(v.Home); err != nil {
		return err
	}
	return remove(v.Dir)
}

// rivals are the programs of a row: all that can reach the store.
func (l *Lab) rivals(w where) []peers.Peer {
	out := []peers.Peer{l.Mover, l.Kopia}
	for _, p := range l.Others {
		if w.s3 && p.Name() != peers.NameRestic {
			continue // tar and cp know no S3
		}
		out = append(out, p)
	}
	return out
}

func firstBackup(ctx context.Context, l *Lab, r Row, w where) ([]report.Row, error) {
	src, tree, err := l.Source(r.Set)
	if err != nil {
		return nil, err
	}
	var sides []side
	for _, p := range l.rivals(w) {
		sides = append(sides, side{p.Name(), func(ctx context.Context, _ int) (measure.Sample, error) {
			v, err := l.vault(ctx, w, tree)
			if err != nil {
				return measure.Sample{}, err
			}
			if err := p.Create(ctx, v); err != nil {
				return measure.Sample{}, err //nolint:wrapcheck // names the command
			}
			s, err := l.timed(ctx, p.Backup(v, src), src)
			if err != nil {
				return s, err
			}
			if p.Name() == peers.NameMover && !w.s3 {
				l.peak(r.Set, s)
			}
			return s, discard(v)
		}})
	}
	got, err := l.interleave(ctx, r.ID, sides, nil)
	if err != nil {
		return nil, err
	}
	return []report.Row{r.against(got, peers.NameKopia, &report.Bound{Budget: 1, Stretch: 0.8}, l)}, nil
}

// against is the row of a comparison.
func (r Row) against(got results, peer string, bound *report.Bound, l *Lab) report.Row {
	return report.Row{
		ID: r.ID, What: r.What + ": " + l.Sizes[r.Set].String(), Value: got.ratio(peers.NameMover, peer), Bound: bound, Sides: got.sides(),
	}
}

func unchanged(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	return again(ctx, l, r, func(string, int) error { return nil })
}

func changed(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	return again(ctx, l, r, func(src string, round int) error {
		_, err := data.Edit(src, l.Sizes[r.Set], round)
		return err //nolint:wrapcheck // says what failed
	})
}

// again measures backups of a source that was backed up before. What is stored in the end is restored and compared.
func again(ctx context.Context, l *Lab, r Row, edit func(src string, round int) error) ([]report.Row, error) {
	src, tree, err := l.Source(r.Set)
	if err != nil {
		return nil, err
	}
	type used struct {
		peer  peers.Peer
		vault *peers.Vault
	}
	var all []used
	var sides []side
	for _, p := range l.rivals(where{}) {
		if p.Name() == peers.NameTar || p.Name() == peers.NameCopy {
			continue // neither knows what it has already
		}
		v, err := l.vault(ctx, where{}, tree)
		if err != nil {
			return nil, err
		}
		if err := p.Create(ctx, v); err != nil {
			return nil, err //nolint:wrapcheck // names the command
		}
		if _, err := l.timed(ctx, p.Backup(v, src)); err != nil {
			return nil, err
		}
		all = append(all, used{p, v})
		sides = append(sides, side{p.Name(), func(ctx context.Context, _ int) (measure.Sample, error) {
			return l.timed(ctx, p.Backup(v, src), src)
		}})
	}
	got, err := l.interleave(ctx, r.ID, sides, func(round int) error {
		if err := edit(src, round); err != nil {
			return err
		}
		now, err := data.Look(src, nil)
		for _, u := range all {
			u.vault.Want = now
		}
		tree = now
		return err //nolint:wrapcheck // names the folder
	})
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if _, err := l.restored(ctx, u.peer, u.vault, tree); err != nil {
			return nil, err
		}
		if err := discard(u.vault); err != nil {
			return nil, err
		}
	}
	l.made[r.Set] = tree
	return []report.Row{r.against(got, peers.NameKopia, &report.Bound{Budget: 1, Stretch: 0.7}, l)}, nil
}
