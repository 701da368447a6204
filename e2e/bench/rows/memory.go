// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

const mib = 1 << 20

// memory is what the mover needed at most, in the runs of the rows before or in runs of its own.
func memory(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	if len(l.peaks[r.Set]) == 0 {
		src, tree, err := l.Source(r.Set)
		if err != nil {
			return nil, err
		}
		v, err := l.vault(ctx, where{}, tree)
		if err != nil {
			return nil, err
		}
		if err := l.Mover.Create(ctx, v); err != nil {
			return nil, err //nolint:wrapcheck // names the command
		}
		backup, err := l.timed(ctx, l.Mover.Backup(v, src), src)
		if err != nil {
			return nil, err
		}
		back, err := l.restored(ctx, l.Mover, v, tree)
		if err != nil {
			return nil, err
		}
		l.peak(r.Set, backup)
		l.peak(r.Set, back)
		if err := discard(v); err != nil {
			return nil, err
		}
	}
	bound := &report.Bound{Budget: 256 * mib, Stretch: 128 * mib}
	if r.Set == data.ManyFiles {
		bound = &report.Bound{Budget: 512 * mib, Stretch: 256 * mib}
	}
	// The budget is for the worst run.
	most := 0.0
	for _, x := range l.peaks[r.Set].RSS() {
		most = max(most, x)
	}
	return []report.Row{{
		ID: r.ID, What: r.What + ": " + l.Sizes[r.Set].String(), Bound: bound,
		Value: report.Value{Unit: report.Bytes, Spread: measure.Of([]float64{most})},
	}}, nil
}

// limit is what a mover's pod may use, for the row about being killed.
const limit = 256 * mib

// underLimit backs up, backs up again and restores below a memory limit, and counts what the kernel killed.
func underLimit(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	group, err := measure.NewCgroup("/sys/fs/cgroup", filepath.Base(l.Work), limit)
	if errors.Is(err, measure.ErrNoCgroup) {
		l.LeftOut(r.ID, "a memory limit takes root and a memory cgroup: "+err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // says what failed
	}
	defer func() { _ = group.Remove() }()
	src, tree, err := l.Source(r.Set)
	if err != nil {
		return nil, err
	}
	v, err := l.vault(ctx, where{}, tree)
	if err != nil {
		return nil, err
	}
	if err := l.Mover.Create(ctx, v); err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	free := l.Runner
	l.Runner.Cgroups, l.Runner.MayFail = group.Dirs(), true
	defer func() { l.Runner = free }()
	steps := []struct {
		name string
		run  func() (measure.Sample, error)
	}{
		{"first backup", func() (measure.Sample, error) { return l.timed(ctx, l.backupOf(r.Set, v, src)) }},
		{"second backup", func() (measure.Sample, error) { return l.timed(ctx, l.backupOf(r.Set, v, src)) }},
		{"restore", func() (measure.Sample, error) { return l.limitedRestore(ctx, r.Set, v, tree) }},
	}
	row := report.Row{ID: r.ID, What: r.What + ": " + l.Sizes[r.Set].String(), Bound: &report.Bound{}}
	for _, s := range steps {
		x, err := s.run()
		kills, kerr := group.Kills()
		if kerr != nil {
			return nil, kerr //nolint:wrapcheck // says what failed
		}
		l.Log("%-10s %-14s %7.2f s  %5d MiB  %d killed", r.ID, s.name, x.Wall.Seconds(), x.PeakRSS>>20, kills)
		if x.Wall > 0 {
			row.Sides = append(row.Sides, report.NewSide(s.name, measure.Samples{x}))
		}
		row.Value = report.Value{Unit: report.Count, Spread: measure.Of([]float64{float64(kills)})}
		if kills > 0 {
			row.Note = s.name + " was killed"
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	peak, err := group.Peak()
	if err != nil {
		return nil, err //nolint:wrapcheck // says what failed
	}
	if peak > 0 && row.Note == "" {
		row.Note = fmt.Sprintf("the cgroup held %d MiB at most, the page cache included", peak>>20)
	}
	return []report.Row{row}, discard(v)
}

// limitedRestore restores; the odd set lacks what no snapshot holds.
func (l *Lab) limitedRestore(ctx context.Context, set data.Set, v *peers.Vault, tree data.Tree) (measure.Sample, error) {
	if set != data.Odd && set != data.Sparse {
		return l.restored(ctx, l.Mover, v, tree)
	}
	yes := true
	target := l.fresh("t") // short: the longest path of the source has to fit here too
	if err := os.Mkdir(target, 0o755); err != nil {
		return measure.Sample{}, fmt.Errorf("make a target: %w", err)
	}
	o := work.Operation{Restore: &work.Restore{SnapshotID: v.Snapshot, TargetPath: target, Options: work.RestoreOptions{WriteSparseFiles: &yes}}}
	s, err := l.timed(ctx, l.Mover.Run(v, o, nil), v.Dir)
	if err != nil {
		return s, err //nolint:wrapcheck // names the command
	}
	got, err := data.Look(target, unstored)
	if err != nil {
		return s, err //nolint:wrapcheck // names the folder
	}
	if set == data.Odd {
		// What moved while it was read is left out on both sides, and what kopia cannot hold on one.
		if tree, err = data.Look(l.at("source-"+string(set)), unstored); err != nil {
			return s, err //nolint:wrapcheck // names the folder
		}
	}
	if err := tree.Compare(got); err != nil {
		return s, fmt.Errorf("the mover restored something else: %w", err)
	}
	return s, remove(target)
}

// unstored is true for the entries of the odd set that a snapshot lacks or that change while it is made.
func unstored(path string) bool {
	return path == data.Growing || strings.HasPrefix(path, data.Vanishing) || path == data.Fifo || path == data.NotUTF8
}

// backupOf is a backup. That of the odd set is disturbed, and says what it could not store.
func (l *Lab) backupOf(set data.Set, v *peers.Vault, src string) measure.Command {
	c := l.Mover.Backup(v, src)
	if set != data.Odd {
		return c
	}
	done := make(chan struct{})
	disturbed := make(chan error, 1)
	ticker := time.NewTicker(50 * time.Millisecond)
	go func() {
		tick := make(chan struct{})
		defer ticker.Stop()
		go func() {
			for {
				select {
				case <-ticker.C:
				case <-done:
					return
				}
				select {
				case tick <- struct{}{}:
				case <-done:
					return
				}
			}
		}()
		disturbed <- data.Disturb(src, done, tick)
	}()
	c.Check = func([]byte) error {
		close(done)
		if err := <-disturbed; err != nil {
			return fmt.Errorf("disturb the source: %w", err)
		}
		r, err := peers.Result(v)
		if err != nil {
			return err //nolint:wrapcheck // says what failed
		}
		return checkOdd(r, v)
	}
	return c
}

var errOdd = errors.New("the mover did not tell what it left out")

// checkOdd expects a snapshot, and every entry that is not in it by name or kind.
func checkOdd(r work.Result, v *peers.Vault) error {
	s := r.Snapshot
	if s == nil || s.SnapshotID == "" || s.Unstored == nil || s.Unstored.UnsupportedNames != 1 || s.Unstored.Unsupported["fifo"] != 1 {
		return fmt.Errorf("%w: %s: %s (%+v)", errOdd, r.Code, r.Message, s)
	}
	v.Snapshot = s.SnapshotID
	return nil
}
