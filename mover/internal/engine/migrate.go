// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"golang.org/x/sync/errgroup"
)

// Migration copies snapshots between two repositories, which share nothing but the meaning of their content.
type Migration struct {
	// Select picks identities.
	Select func(Identity) bool
	// LatestOnly copies the newest complete snapshot of each.
	LatestOnly bool
	// Keep, where it is set, says of the snapshots of one identity on both sides, by when they ended, which are worth
	// copying.
	Keep func([]time.Time) []bool
	// By is written on every copy: whom it was made for.
	By string
	// Parallel is how many identities are copied at a time, Files how many files of all of them.
	Parallel, Files int
	Policies        CopyPolicies
	Progress        *Counters
	Log             func(level, message string)
	// Soft ends the copying early; what is whole by then is still published. The context of the call is the hard limit.
	Soft context.Context //nolint:containedctx // a second, softer deadline of the same call
}

// CopyPolicies says what happens to the policies that are stored for the identities themselves.
type CopyPolicies int

// What may happen to them.
const (
	CopyNoPolicies CopyPolicies = iota
	CopyMissingPolicies
	CopyAllPolicies
)

// Migrated is the outcome.
type Migrated struct {
	Identities, Policies int64
	// Copied snapshots are published, Present ones were there before, Failed ones could not be read at the source,
	// Incomplete ones are checkpoints and not meant to be copied.
	Copied, Present, Failed, Incomplete int64
	// NotKept were left out because of Keep.
	NotKept int64
	Bytes   int64
	// Pairs are all snapshots of selected identities that both sides list, by identity and start.
	Pairs []Pair
}

// Pair is a snapshot in both repositories.
type Pair struct {
	Source, Copy Snapshot
	// Present: the copy was there before.
	Present bool
}

const (
	// publishAfter is how much work may be lost with a mover that is killed. Publishing costs blobs, so a thousand small
	// snapshots are not published one by one.
	publishAfter = time.Minute
	// maxFailures in a row, and nothing will come of the rest.
	maxFailures = 10
)

// MigrateTo copies what is selected and not there yet. It is idempotent: a snapshot is the same by identity and start
// time, to the nanosecond. It ends by listing the destination: a snapshot counts when it is in that list.
func (r *Repository) MigrateTo(ctx context.Context, to *Repository, m Migration) (Migrated, error) {
	if err := to.storage.apartFrom(r.storage); err != nil {
		return Migrated{}, err
	}
	w := &migrator{Migration: m, from: r, to: to, slot: make(chan struct{}, max(m.Files-1, 0))}
	if w.Soft == nil {
		w.Soft = ctx
	}
	if err := w.plan(ctx); err != nil {
		return w.out, err
	}
	var ended error
	if w.work() {
		err := to.write(ctx, "migrate", nil, func(_ context.Context, rw repo.RepositoryWriter) error {
			w.w, w.published = rw, to.clock()
			ended = w.run(w.Soft)
			return nil // what is whole is published in every case
		})
		if err != nil {
			return w.out, AtDestination(errors.Join(err, ended))
		}
	}
	return w.out, errors.Join(ended, w.verify(ctx))
}

// migrator is one run.
type migrator struct {
	Migration

	from, to *Repository
	w        repo.RepositoryWriter
	slot     chan struct{}
	lineages []*lineage

	mu        sync.Mutex
	out       Migrated
	published time.Time
	failures  int
}

// lineage is one identity: its snapshots at the source, oldest first, and the copies that are there.
type lineage struct {
	id     Identity
	source []Snapshot
	copies map[time.Time]Snapshot
	todo   []Snapshot
	policy *policy.Policy
}

// plan lists both sides.
func (w *migrator) plan(ctx context.Context) error {
	all, bad, err := w.from.loadReadable(ctx, nil)
	if err != nil {
		return AtSource(err)
	}
	if len(bad) > 0 {
		// Nobody can tell whose they are.
		w.Log("warn", fmt.Sprintf("%d snapshots of the source have a manifest that cannot be decoded, and are left out", len(bad)))
		w.out.Failed += int64(len(bad))
	}
	byID := map[Identity]*lineage{}
	for _, s := range all {
		if !w.Select(s.Identity) {
			continue
		}
		if !s.Complete() {
			w.out.Incomplete++ // D-3: a checkpoint is nobody's snapshot
			continue
		}
		l, ok := byID[s.Identity]
		if !ok {
			l = &lineage{id: s.Identity, copies: map[time.Time]Snapshot{}}
			byID[s.Identity] = l
			w.lineages = append(w.lineages, l)
		}
		l.source = append(l.source, s)
	}
	w.out.Identities = int64(len(w.lineages))
	slices.SortFunc(w.lineages, func(a, b *lineage) int { return cmp.Compare(a.id.String(), b.id.String()) })
	for _, l := range w.lineages {
		slices.Reverse(l.source)
		if err := w.planOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (w *migrator) planOne(ctx context.Context, l *lineage) error {
	src := l.id.source()
	have, _, err := w.to.loadReadable(ctx, &src)
	if err != nil {
		return AtDestination(err)
	}
	for _, s := range have {
		if s.Complete() {
			l.copies[s.Start] = s
		}
	}
	worth := w.worth(l)
	for i, s := range l.source {
		if w.LatestOnly && i < len(l.source)-1 {
			continue
		}
		if _, ok := l.copies[s.Start]; ok {
			w.out.Present++
			continue
		}
		if !worth[i] {
			w.out.NotKept++
			continue
		}
		l.todo = append(l.todo, s)
		w.Progress.TotalBytes.Add(s.Size)
		w.Progress.TotalFiles.Add(s.Files)
	}
	return w.planPolicy(ctx, l)
}

// worth says of each snapshot of the source whether it would be kept beside all that there is of its identity.
func (w *migrator) worth(l *lineage) []bool {
	out := make([]bool, len(l.source))
	if w.Keep == nil {
		for i := range out {
			out[i] = true
		}
		return out
	}
	all, at := slices.Clone(l.source), make(map[time.Time]int, len(l.source))
	for i, s := range l.source {
		at[s.Start] = i
	}
	for start, c := range l.copies {
		if _, ok := at[start]; !ok {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Snapshot) int { return b.Start.Compare(a.Start) }) // of equal ends the later one is the newer
	ends := make([]time.Time, len(all))
	for i, s := range all {
		ends[i] = s.End
	}
	for i, kept := range w.Keep(ends) {
		if n, ok := at[all[i].Start]; ok {
			out[n] = kept
		}
	}
	return out
}

func (w *migrator) planPolicy(ctx context.Context, l *lineage) error {
	if w.Policies == CopyNoPolicies {
		return nil
	}
	p, err := policy.GetDefinedPolicy(ctx, w.from.rep, l.id.source())
	if errors.Is(err, policy.ErrPolicyNotFound) {
		return nil
	}
	if err != nil {
		return AtSource(fmt.Errorf("%w: read the policy of %s: %w", ErrStorage, l.id, err))
	}
	_, err = policy.GetDefinedPolicy(ctx, w.to.rep, l.id.source())
	switch {
	case err == nil && w.Policies == CopyMissingPolicies:
		return nil
	case err != nil && !errors.Is(err, policy.ErrPolicyNotFound):
		return AtDestination(fmt.Errorf("%w: read the policy of %s: %w", ErrStorage, l.id, err))
	}
	l.policy = p
	return nil
}

// work reports whether there is anything to write.
func (w *migrator) work() bool {
	return slices.ContainsFunc(w.lineages, func(l *lineage) bool { return len(l.todo) > 0 || l.policy != nil })
}

// run copies identities beside one another, and the snapshots of each in the order they were made: each builds on the one
// before.
func (w *migrator) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(w.Parallel, 1))
	for _, l := range w.lineages {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return w.lineage(ctx, l) })
	}
	if err := group.Wait(); err != nil {
		return err //nolint:wrapcheck // each says at which side
	}
	return context.Cause(w.Soft)
}

func (w *migrator) lineage(ctx context.Context, l *lineage) error {
	if l.policy != nil {
		if err := policy.SetPolicy(ctx, w.w, l.id.source(), l.policy); err != nil {
			return AtDestination(fmt.Errorf("%w: store the policy of %s: %w", ErrStorage, l.id, err))
		}
		w.count(func(o *Migrated) { o.Policies++ })
	}
	for _, s := range l.todo {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		saved, err := w.snapshot(ctx, l, s)
		if err == nil {
			l.copies[s.Start] = saved
			w.succeeded()
			if err := w.publish(ctx); err != nil {
				return AtDestination(err)
			}
			continue
		}
		if !w.goOn(ctx, s, err) {
			return err
		}
	}
	return nil
}

// goOn decides whether a failure is that of one snapshot. A store that does not answer, or a destination that does not
// take, is not.
func (w *migrator) goOn(ctx context.Context, s Snapshot, err error) bool {
	if ctx.Err() != nil || !errors.Is(err, errUnreadable) || isOutage(err) {
		return false
	}
	w.Log("error", fmt.Sprintf("Leaving out the snapshot of %s that started at %s: %s", s.Identity, s.Start.Format(time.RFC3339Nano), err))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Failed++
	w.failures++
	return w.failures < maxFailures
}

func (w *migrator) succeeded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = 0
}

func (w *migrator) count(f func(*Migrated)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.out)
}

// publish makes what was saved visible, from time to time.
func (w *migrator) publish(ctx context.Context) error {
	w.mu.Lock()
	now := w.to.clock()
	due := now.Sub(w.published) >= publishAfter
	if due {
		w.published = now
	}
	w.mu.Unlock()
	if !due {
		return nil
	}
	if err := w.w.Flush(ctx); err != nil {
		return fmt.Errorf("%w: publish snapshots: %w", ErrStorage, err)
	}
	return nil
}

// verify lists the destination and pairs what it holds with what was selected.
func (w *migrator) verify(ctx context.Context) error {
	if err := w.to.rep.Refresh(ctx); err != nil {
		return AtDestination(fmt.Errorf("%w: list snapshots: %w", ErrStorage, err))
	}
	w.out.Copied = 0
	missing := 0
	for _, l := range w.lineages {
		src := l.id.source()
		have, _, err := w.to.loadReadable(ctx, &src)
		if err != nil {
			return AtDestination(err)
		}
		listed := make(map[time.Time]Snapshot, len(have))
		for _, s := range have {
			if s.Complete() {
				listed[s.Start] = s
			}
		}
		todo := make(map[time.Time]bool, len(l.todo))
		for _, s := range l.todo {
			todo[s.Start] = true
		}
		for i, s := range l.source {
			c, ok := listed[s.Start]
			switch {
			case !ok && w.LatestOnly && i < len(l.source)-1:
			case ok:
				w.out.Pairs = append(w.out.Pairs, Pair{Source: s, Copy: c, Present: !todo[s.Start]})
				if todo[s.Start] {
					w.out.Copied++
				}
			case l.copies[s.Start].ID != "":
				missing++
			}
		}
	}
	if missing > 0 {
		return AtDestination(fmt.Errorf("%w: %d snapshots are not listed after they were written", ErrStorage, missing))
	}
	return nil
}

// source is kopia's name of a snapshot's source.
func (s Snapshot) source() snapshot.SourceInfo { return s.Identity.source() }
