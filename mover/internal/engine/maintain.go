// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/maintenance"
	"github.com/kopia/kopia/repo/maintenancestats"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot/snapshotgc"
)

// Maintenance is one run.
type Maintenance struct {
	// Full also collects garbage. Without it the index is looked after, and nothing else.
	Full bool
	Own  OwnerRule
	// Interval is the time between two full ones, for the forecast.
	Interval time.Duration
	Parallel int
}

// Maintained is what a run did.
type Maintained struct {
	Owner          MaintenanceOwner
	RemovedBlobs   int64
	RemovedBytes   int64
	Waiting        Waiting
	NextQuick      time.Time
	NextFull       time.Time
	IndexBlobCount int64
	IndexBlobBytes int64
	// Epoch is nil in an old format.
	Epoch *int64
	// Unprolonged is how many blobs the store refused to lock anew.
	Unprolonged int64
}

// scheduleBlob is where kopia keeps its runs; its time is the store's.
const scheduleBlob = "kopia.maintenance"

// Maintain runs kopia's maintenance, always with full safety: the margins are what lets backups go on meanwhile. Nothing
// keeps a second maintenance of another pod away but the caller (K-6).
func (r *Repository) Maintain(ctx context.Context, m Maintenance) (Maintained, error) {
	var (
		out      Maintained
		err      error
		schedule *maintenance.Schedule
	)
	if out.Owner, err = r.Own(ctx, m.Own); err != nil {
		return out, err
	}
	if out.Owner.Owner != r.Owner() {
		return out, fmt.Errorf("%w: %s", ErrForeignOwner, or(out.Owner.Owner, "nobody"))
	}
	if m.Full {
		if err := r.allDecodable(ctx); err != nil {
			return out, err
		}
	}
	defer os.Remove(r.config + ".mlock") //nolint:errcheck // kopia's lock among processes of one connection file
	err = repo.DirectWriteSession(ctx, r.rep, repo.WriteSessionOptions{Purpose: "maintenance"}, func(ctx context.Context, w repo.DirectRepositoryWriter) error {
		before, err := maintenance.GetSchedule(ctx, w)
		if err != nil {
			return fmt.Errorf("read the maintenance schedule: %w", err)
		}
		if err := r.runMaintenance(ctx, w, m, &out); err != nil {
			return err
		}
		after, err := maintenance.GetSchedule(ctx, w)
		if err != nil {
			return fmt.Errorf("read the maintenance schedule: %w", err)
		}
		ran := newRuns(before, after)
		if len(ran) == 0 {
			return ErrNothingRan
		}
		out.NextQuick, out.NextFull = after.NextQuickMaintenanceTime, after.NextFullMaintenanceTime
		out.removed(ran)
		schedule = after
		return nil
	})
	if err != nil {
		switch {
		case isLost(err), isUndecodable(err):
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		case storeFailed(err):
			err = fmt.Errorf("%w: %w", ErrStorage, err)
		}
		return out, fmt.Errorf("run maintenance: %w", err)
	}
	if err := r.rep.Refresh(ctx); err != nil {
		return out, fmt.Errorf("%w: read the index after maintenance: %w", ErrStorage, err)
	}
	if out.IndexBlobCount, out.IndexBlobBytes, err = r.indexBlobs(ctx); err != nil {
		return out, err
	}
	// A session of its own: that of a maintenance does not look at the index again.
	err = repo.DirectWriteSession(ctx, r.rep, repo.WriteSessionOptions{Purpose: "look after maintenance"}, func(ctx context.Context, w repo.DirectRepositoryWriter) error {
		out.Epoch = epochOf(ctx, w)
		if m.Full {
			out.Waiting, err = r.waiting(ctx, w, m, schedule)
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("%w: look at the repository after maintenance: %w", ErrStorage, err)
	}
	return out, nil
}

// allDecodable refuses to collect garbage while a snapshot cannot be read: kopia passes over a manifest that it cannot
// decode with a line in its log, and would take all that only it uses for garbage.
func (r *Repository) allDecodable(ctx context.Context) error {
	all, bad, err := r.loadReadable(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.manifest.RootObjectID() == object.EmptyID {
			bad = append(bad, s.ID)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %d of them, %s is the first; their data would be taken for garbage; delete them or repair them", ErrUndecodable, len(bad), bad[0])
	}
	return nil
}

func (r *Repository) runMaintenance(ctx context.Context, w repo.DirectRepositoryWriter, m Maintenance, out *Maintained) error {
	mode := maintenance.ModeQuick
	if m.Full {
		mode = maintenance.ModeFull
	}
	entered := false
	last, _ := w.BlobReader().GetMetadata(ctx, scheduleBlob) // not there before the first run
	// Not by force: that would pass over the owner.
	err := maintenance.RunExclusive(ctx, w, mode, false, func(ctx context.Context, p maintenance.RunParameters) error {
		entered = true
		p.Params.ListParallelism = max(m.Parallel, 1)
		extend := p.Params.ExtendObjectLocks && m.Full
		p.Params.ExtendObjectLocks = false // here, not in the repository
		if m.Full {
			if err := snapshotgc.Run(ctx, w, true, maintenance.SafetyFull, p.MaintenanceStartTime); err != nil {
				return err //nolint:wrapcheck // says what it was doing
			}
		}
		if err := maintenance.Run(ctx, p, maintenance.SafetyFull); err != nil || !extend {
			return err //nolint:wrapcheck // says what it was doing
		}
		var err error
		out.Unprolonged, err = r.prolong(ctx, w, max(m.Parallel, 1)*locksPerFile)
		return err
	})
	var foreign maintenance.NotOwnedError
	switch {
	case errors.As(err, &foreign):
		return fmt.Errorf("%w: %s", ErrForeignOwner, foreign.Owner)
	case err != nil && !entered:
		// Kopia writes its schedule and compares the blob's time with its own; it has no type for the outcome. Where it did
		// not come to write it, its time is that of the run before.
		if md, merr := w.BlobReader().GetMetadata(ctx, scheduleBlob); merr == nil && !md.Timestamp.Equal(last.Timestamp) {
			if c := (ClockReading{Mover: r.clock(), Store: md.Timestamp}); c.Excessive() {
				return fmt.Errorf("%w: %s; kopia would take what is being written for old", ErrClockSkew, c)
			}
		}
	}
	return err //nolint:wrapcheck // says what it was doing
}

// runs are tasks of maintenance.
type runs map[maintenance.TaskType][]maintenance.RunInfo

// newRuns are the tasks that one schedule has and an earlier one has not.
func newRuns(before, after *maintenance.Schedule) runs {
	out := runs{}
	for task, runs := range after.Runs {
		known := map[time.Time]bool{}
		for _, r := range before.Runs[task] {
			known[r.Start.UTC()] = true
		}
		for _, r := range runs {
			if !known[r.Start.UTC()] {
				out[task] = append(out[task], r)
			}
		}
	}
	return out
}

// removed sums up the blobs that went.
func (m *Maintained) removed(ran runs) {
	for _, s := range statsOf[*maintenancestats.DeleteUnreferencedPacksStats](ran, maintenance.TaskDeleteOrphanedBlobsFull, maintenance.TaskDeleteOrphanedBlobsQuick) {
		m.RemovedBlobs += int64(s.DeletedPackCount) //nolint:gosec // a count of blobs
		m.RemovedBytes += int64(s.DeletedTotalSize) //nolint:gosec // bytes of a store
	}
}

func statsOf[T maintenancestats.Summarizer](ran runs, tasks ...maintenance.TaskType) []T {
	var out []T
	for _, task := range tasks {
		for _, r := range ran[task] {
			for _, x := range r.Extra {
				if s, err := maintenancestats.BuildFromExtra(x); err == nil {
					if t, ok := s.(T); ok {
						out = append(out, t)
					}
				}
			}
		}
	}
	return out
}

// waiting looks for what is on its way out.
func (r *Repository) waiting(ctx context.Context, w repo.DirectRepositoryWriter, m Maintenance, after *maintenance.Schedule) (Waiting, error) {
	last, young, since := youngOf(after)
	g, err := findGarbage(ctx, w, max(m.Parallel, 1), r.clock(), last)
	if err != nil {
		return Waiting{}, err
	}
	g.youngBytes, g.youngSince = max(0, young-g.youngMarks), since
	interval := m.Interval
	if interval <= 0 {
		interval = maintenance.DefaultParams().FullCycle.Interval
	}
	most := g.most()
	return Waiting{Stage: most.stage(), Bytes: g.bytes(), At: forecast(most, cyclesOf(after), last, interval, maintenance.SafetyFull)}, nil
}

// youngOf says when the last collection began, what it found too young to be marked, and since when collections have found
// such.
func youngOf(s *maintenance.Schedule) (last time.Time, bytes int64, since time.Time) {
	for i, r := range s.Runs[maintenance.TaskSnapshotGarbageCollection] {
		if i == 0 {
			last = r.Start
		}
		found := statsOf[*maintenancestats.SnapshotGCStats](runs{maintenance.TaskSnapshotGarbageCollection: {r}}, maintenance.TaskSnapshotGarbageCollection)
		if len(found) == 0 || found[0].UnreferencedRecentContentSize == 0 {
			break
		}
		if i == 0 {
			bytes = int64(found[0].UnreferencedRecentContentSize) //nolint:gosec // bytes of a store
		}
		since = r.Start
	}
	return last, bytes, since
}

// shortPack is the part of a full blob in percent below which kopia rewrites what is in it, and blobSlack what a blob
// holds beside its contents: padding, and an index of its own.
const (
	shortPack = 60
	blobSlack = 64 << 10
)

// findGarbage looks for marks in the index, for blobs that no index names, and for what no index names in the others.
// What belongs to an upload that is under way has no name yet and is no garbage. Last is when the last collection began.
func findGarbage(ctx context.Context, w repo.DirectRepositoryWriter, parallel int, now, last time.Time) (garbage, error) {
	var g garbage
	named := map[uint64]int64{}
	err := w.ContentReader().IterateContents(ctx, content.IterateOptions{IncludeDeleted: true}, func(c content.Info) error {
		named[hashOf(c.PackBlobID)] += int64(c.PackedLength)
		if c.Deleted {
			g.markedBytes += int64(c.PackedLength)
			g.oldestMark = older(g.oldestMark, c.Timestamp())
			if age := last.Sub(c.Timestamp()); age > 0 && age < maintenance.SafetyFull.MinContentAgeSubjectToGC {
				g.youngMarks += int64(c.PackedLength)
			}
		}
		return nil
	})
	if err != nil {
		return garbage{}, fmt.Errorf("look for deleted contents: %w", err)
	}
	active, err := w.ContentManager().ListActiveSessions(ctx)
	if err != nil {
		return garbage{}, fmt.Errorf("look for sessions: %w", err)
	}
	mp, err := w.FormatManager().GetMutableParameters(ctx)
	if err != nil {
		return garbage{}, fmt.Errorf("read the size of packs: %w", err)
	}
	var mu sync.Mutex
	err = blob.IterateAllPrefixesInParallel(ctx, parallel, w.BlobStorage(), content.PackBlobIDPrefixes, func(b blob.Metadata) error {
		mu.Lock()
		defer mu.Unlock()
		used, ok := named[hashOf(b.BlobID)]
		switch s, under := active[content.SessionIDFromBlobID(b.BlobID)]; {
		case ok:
			if used < int64(mp.MaxPackSize)/100*shortPack && b.Length-used > blobSlack {
				g.sharedBytes += b.Length - used
			}
		case !under || now.Sub(s.CheckpointTime) >= maintenance.SafetyFull.SessionExpirationAge:
			g.droppedBytes += b.Length
			g.oldestBlob = older(g.oldestBlob, b.Timestamp)
		}
		return nil
	})
	if err != nil {
		return garbage{}, fmt.Errorf("look for blobs that no index names: %w", err)
	}
	return g, nil
}

func older(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// epochOf is the number of the current epoch, nil where there are none (C-11).
func epochOf(ctx context.Context, w repo.DirectRepositoryWriter) *int64 {
	m, ok, err := w.ContentManager().EpochManager(ctx)
	if err != nil || !ok {
		return nil
	}
	s, err := m.Current(ctx)
	if err != nil {
		return nil
	}
	n := int64(s.WriteEpoch)
	return &n
}
