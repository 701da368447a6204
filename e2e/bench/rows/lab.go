// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rows holds the rows of the budgets: what is run for each, and which figure comes of it.
package rows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// Lab is where rows are run.
type Lab struct {
	// Work is the folder for data sets, stores and targets.
	Work   string
	Sizes  data.Sizes
	Full   bool
	Rounds int
	Runner measure.Runner
	Mover  *peers.Mover
	Kopia  *peers.Kopia
	// Others are the peers that this machine has, beside kopia: Restic is one of them or nil.
	Others []peers.Peer
	Restic *peers.Restic
	// Gateway is the S3 server to start, "" for none.
	Gateway string
	// KeepFree is how much of the disk is left alone.
	KeepFree int64
	Log      func(format string, args ...any)
	LeftOut  func(what, why string)

	store *s3
	made  map[data.Set]data.Tree
	peaks map[data.Set]measure.Samples
	count int
}

// Source is a data set, made if it is not there.
func (l *Lab) Source(set data.Set) (string, data.Tree, error) {
	dir := l.at("source-" + string(set))
	if t, ok := l.made[set]; ok {
		return dir, t, nil
	}
	spec := l.Sizes[set]
	l.Log("making %s: %s", set, spec)
	if err := data.Generate(dir, spec); err != nil {
		return "", data.Tree{}, err //nolint:wrapcheck // names the set
	}
	t, err := data.Look(dir, nil)
	if err != nil {
		return "", data.Tree{}, err //nolint:wrapcheck // names the folder
	}
	if l.made == nil {
		l.made = map[data.Set]data.Tree{}
	}
	l.made[set] = t
	return dir, t, nil
}

// Release removes the data sets.
func (l *Lab) Release() error {
	for set := range l.made {
		if err := remove(l.at("source-" + string(set))); err != nil {
			return err
		}
		delete(l.made, set)
	}
	return nil
}

// Close ends what the lab has started.
func (l *Lab) Close() error {
	if l.store != nil {
		l.store.close()
		l.store = nil
	}
	return l.Release()
}

func (l *Lab) at(name string) string { return filepath.Join(l.Work, name) }

// fresh is a path that was not used before.
func (l *Lab) fresh(name string) string {
	l.count++
	return l.at(fmt.Sprintf("%s-%d", name, l.count))
}

// remove removes a folder, also the parts of it that nobody may enter.
func remove(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what a run left: %w", err)
	}
	return nil
}

// fits reports whether the disk has room for so many bytes more.
func (l *Lab) fits(bytes int64) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(l.Work, &st); err != nil {
		return false
	}
	free := int64(st.Bavail) * int64(st.Bsize) //nolint:gosec,unconvert // no disk has 8 EiB
	return free-bytes > l.KeepFree
}

// timed runs a command when everything written before is on the disk and everything it will read is in memory.
func (l *Lab) timed(ctx context.Context, c measure.Command, warm ...string) (measure.Sample, error) {
	syscall.Sync()
	for _, dir := range warm {
		if err := data.Warm(dir); err != nil {
			return measure.Sample{}, err //nolint:wrapcheck // names the folder
		}
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	return l.Runner.Run(ctx, c) //nolint:wrapcheck // names the command
}

// runLimit ends a program that hangs.
const runLimit = time.Hour

// side is one of the programs that are compared in a row.
type side struct {
	name string
	run  func(ctx context.Context, round int) (measure.Sample, error)
}

// interleave runs all sides in each round, in an order that rotates. Nothing is dropped: a side that fails ends the row.
func (l *Lab) interleave(ctx context.Context, row string, sides []side, before func(round int) error) (results, error) {
	out := results{order: sides, samples: map[string]measure.Samples{}}
	for round := range l.Rounds {
		if before != nil {
			if err := before(round); err != nil {
				return out, err
			}
		}
		for _, i := range measure.Order(len(sides), round) {
			s := sides[i]
			x, err := s.run(ctx, round)
			if err != nil {
				return out, fmt.Errorf("round %d, %s: %w", round+1, s.name, err)
			}
			l.Log("%-10s round %d  %-14s %7.2f s  %7.2f s CPU  %5d MiB", row, round+1, s.name, x.Wall.Seconds(), x.CPU().Seconds(), x.PeakRSS>>20)
			out.samples[s.name] = append(out.samples[s.name], x)
		}
	}
	return out, nil
}

// results are the samples of a row by side.
type results struct {
	order   []side
	samples map[string]measure.Samples
}

func (r results) sides() []report.Side {
	out := make([]report.Side, 0, len(r.order))
	for _, s := range r.order {
		out = append(out, report.NewSide(s.name, r.samples[s.name]))
	}
	return out
}

// ratio is the wall time of one side over that of another.
func (r results) ratio(a, b string) report.Value {
	return report.Value{Unit: report.Times, Spread: measure.Ratio(r.samples[a].Wall(), r.samples[b].Wall())}
}

// fastest is the one of some sides with the lowest median.
func (r results) fastest(names ...string) string {
	best := ""
	for _, n := range names {
		if s := r.samples[n]; len(s) > 0 && (best == "" || measure.Of(s.Wall()).Median < measure.Of(r.samples[best].Wall()).Median) {
			best = n
		}
	}
	return best
}

// peak remembers what the mover needed for a data set, for the row about memory.
func (l *Lab) peak(set data.Set, s measure.Sample) {
	if l.peaks == nil {
		l.peaks = map[data.Set]measure.Samples{}
	}
	l.peaks[set] = append(l.peaks[set], s)
}

// Abandon removes what a row left that failed: everything but the programs' own scratch.
func (l *Lab) Abandon() error {
	l.made = nil
	if err := emptied(l.Work, "runs", "s3"); err != nil {
		return err
	}
	if l.store == nil {
		return nil
	}
	return emptied(l.store.dir) // its buckets; the server goes on
}

// emptied removes what is in a folder, but for some entries.
func emptied(dir string, but ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	for _, e := range entries {
		if slices.Contains(but, e.Name()) {
			continue
		}
		if err := remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
