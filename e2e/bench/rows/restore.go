// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// restored restores a vault as somebody who has nothing cached, and compares what came with what was stored.
func (l *Lab) restored(ctx context.Context, p peers.Peer, v *peers.Vault, want data.Tree) (measure.Sample, error) {
	as := *v
	as.Home = l.fresh("home")
	if err := os.MkdirAll(as.Home, 0o750); err != nil {
		return measure.Sample{}, fmt.Errorf("make a home: %w", err)
	}
	target := l.fresh("target")
	if err := os.Mkdir(target, 0o755); err != nil {
		return measure.Sample{}, fmt.Errorf("make a target: %w", err)
	}
	if err := p.Connect(ctx, &as); err != nil {
		return measure.Sample{}, err //nolint:wrapcheck // names the command
	}
	s, err := l.timed(ctx, p.Restore(&as, target), v.Dir)
	if err != nil {
		return s, err
	}
	// The cache first: there may be no room for it and what reads the target.
	if err := remove(as.Home); err != nil {
		return s, err
	}
	got, err := data.Look(target, nil)
	if err == nil {
		err = want.Compare(got)
	}
	if err != nil {
		return s, fmt.Errorf("%s restored something else: %w", p.Name(), err)
	}
	return s, remove(target)
}

// stocked are programs with a store each that holds a data set. Mover and kopia read the same one.
func (l *Lab) stocked(ctx context.Context, r Row, w where) ([]peers.Peer, map[string]*peers.Vault, error) {
	src, tree, err := l.Source(r.Set)
	if err != nil {
		return nil, nil, err
	}
	var out []peers.Peer
	vaults := map[string]*peers.Vault{}
	for _, p := range l.rivals(w) {
		if p.Name() == peers.NameKopia {
			vaults[p.Name()] = vaults[peers.NameMover]
			out = append(out, p)
			continue
		}
		// Its store, and the target and the caches that come on top.
		if !l.fits(2*tree.Bytes + 1<<30) {
			if p.Name() == peers.NameMover {
				return nil, nil, fmt.Errorf("no room for %s twice, with %s to be left free", data.Bytes(tree.Bytes), data.Bytes(l.KeepFree)) //nolint:err113 // read by people
			}
			l.LeftOut(r.ID+", "+p.Name(), "no room on the disk for its store")
			continue
		}
		v, err := l.vault(ctx, w, tree)
		if err != nil {
			return nil, nil, err
		}
		if err := p.Create(ctx, v); err != nil {
			return nil, nil, err //nolint:wrapcheck // names the command
		}
		if _, err := l.timed(ctx, p.Backup(v, src)); err != nil {
			return nil, nil, err
		}
		vaults[p.Name()] = v
		out = append(out, p)
	}
	return out, vaults, nil
}

func restore(ctx context.Context, l *Lab, r Row, w where) ([]report.Row, error) {
	got, err := l.restores(ctx, r, w)
	if err != nil {
		return nil, err
	}
	peer := got.fastest(peers.NameKopia, peers.NameRestic)
	r.What = strings.Replace(r.What, "the faster of kopia CLI and restic", "the faster of kopia CLI and restic ("+peer+")", 1)
	return []report.Row{r.against(got, peer, &report.Bound{Budget: 1, Stretch: 0.7}, l)}, nil
}

func restoreLarge(ctx context.Context, l *Lab, r Row, w where) ([]report.Row, error) {
	got, err := l.restores(ctx, r, w)
	if err != nil {
		return nil, err
	}
	return []report.Row{r.against(got, peers.NameKopia, &report.Bound{Budget: 0.5, Stretch: 0.25}, l)}, nil
}

func (l *Lab) restores(ctx context.Context, r Row, w where) (results, error) {
	all, vaults, err := l.stocked(ctx, r, w)
	if err != nil {
		return results{}, err
	}
	tree := l.made[r.Set]
	var sides []side
	for _, p := range all {
		v := vaults[p.Name()]
		sides = append(sides, side{p.Name(), func(ctx context.Context, _ int) (measure.Sample, error) {
			s, err := l.restored(ctx, p, v, tree)
			if err == nil && p.Name() == peers.NameMover && !w.s3 {
				l.peak(r.Set, s)
			}
			return s, err
		}})
	}
	got, err := l.interleave(ctx, r.ID, sides, nil)
	if err != nil {
		return got, err
	}
	for name, v := range vaults {
		if name != peers.NameKopia {
			if err := discard(v); err != nil {
				return got, err
			}
		}
	}
	return got, nil
}
