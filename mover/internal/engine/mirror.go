// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/format"
)

// Mirror copies a repository blob by blob. The copy is the same repository in another place: same password, format and
// unique id.
type Mirror struct {
	Destination Storage
	Throttle    Throttle
	// Parallel is how many blobs are read, and how many are written, at a time.
	Parallel int
	// MaxInFlight bounds the bytes of all blobs in memory; a single larger blob has it to itself.
	MaxInFlight int64
	// DeleteExtra deletes at the destination what the source does not hold.
	DeleteExtra bool
	// MustExist refuses to begin a new copy.
	MustExist bool
	// MustBegin refuses to go on with one that has ended: whatever is at the destination then is left alone.
	MustBegin bool
	// Times keeps the source's times where the destination can.
	Times bool
	// KeepOlder leaves alone what is newer at the source.
	KeepOlder bool
	Progress  *Counters
	Log       func(level, message string)

	// wrap stands before the destination in tests.
	wrap func(blob.Storage) blob.Storage
}

// Mirrored is the outcome.
type Mirrored struct {
	// Fresh: nothing was at the destination. Resumed: an earlier copy into an empty place had not ended.
	Fresh, Resumed bool
	// Total is what the source holds.
	Total, Copied, Deleted BlobCount
	// Extra blobs are at the destination only, and were left there.
	Extra int64
	// Lost blobs are named by the source's indexes, and the source does not hold them; the destination does.
	Lost int64
	// Locked blobs are under object lock at the destination for a period from now on; of Unprolonged ones the store refused
	// to prolong the lock. Unlocked: the source asks for locks, and the destination has none.
	Locked, Unprolonged int64
	Unlocked            bool
}

// BlobCount counts blobs and their bytes.
type BlobCount struct{ Blobs, Bytes int64 }

func (c *BlobCount) add(bytes int64) { c.Blobs++; c.Bytes += bytes }

// maxPasses is how often a copy begins again because blobs vanished from the source meanwhile: a maintenance rewrites
// data into new blobs and removes the old ones, so a second look finds the new ones.
const maxPasses = 3

// Mirror brings the destination to what the source holds now. It may be ended at any moment: what is there by then stays
// and is not copied again. A copy into an empty place becomes a repository with its very last blob; until then nobody
// takes it for one. Indexes follow the packs that they name, and are removed before them.
func (r *Repository) Mirror(ctx context.Context, m Mirror) (Mirrored, error) {
	if err := m.Destination.apartFrom(r.storage); err != nil {
		return Mirrored{}, err
	}
	w := &mirror{Mirror: m, repo: r, src: r.rep.BlobReader()}
	if err := w.open(ctx); err != nil {
		return Mirrored{}, err
	}
	defer w.dst.Close(context.WithoutCancel(ctx))
	err := w.run(ctx)
	w.out.Locked, w.out.Unprolonged, w.out.Unlocked = w.locks.count.Load(), w.locks.refused.Load(), w.locks.impossible.Load()
	return w.out, err
}

// mirror is one run of a Mirror.
type mirror struct {
	Mirror

	repo *Repository
	src  blob.Reader
	dst  blob.Storage
	// begun: the destination is no repository yet.
	begun bool
	// untimed: the destination cannot keep times.
	untimed atomic.Bool
	locks   mirrorLocks

	at  destinationState
	out Mirrored
}

func (w *mirror) open(ctx context.Context) error {
	// The probe comes first, because it says what is wrong.
	d, err := w.Destination.look(ctx)
	if err != nil {
		return AtDestination(err)
	}
	w.at = d
	st, err := w.Destination.open(ctx)
	if err != nil {
		return AtDestination(fmt.Errorf("%w: %w", ErrStorage, err))
	}
	if w.dst, err = w.Throttle.behind(st); err != nil {
		_ = st.Close(ctx)
		return AtDestination(err)
	}
	if w.wrap != nil {
		w.dst = w.wrap(w.dst)
	}
	return nil
}

func (w *mirror) run(ctx context.Context) error {
	src, err := w.listSource(ctx)
	if err != nil {
		return AtSource(err)
	}
	if len(src.of(blobData)) == 0 || len(src.of(blobIndex)) == 0 {
		// A repository has both from its first minute. Whatever happened to this one must not happen to its copy.
		return AtSource(fmt.Errorf("%w: the %s holds no data", ErrSourceEmpty, w.repo.storage))
	}
	if err := w.plan(ctx); err != nil {
		return AtSource(err)
	}
	if err := w.begin(ctx); err != nil {
		return AtDestination(err)
	}
	var dst blobList
	for pass := 1; ; pass++ {
		if dst, err = w.listDestination(ctx); err != nil {
			return AtDestination(err)
		}
		vanished, err := w.copyMissing(ctx, src, dst)
		if err != nil {
			return err
		}
		if vanished == 0 {
			break
		}
		if pass == maxPasses {
			return AtSource(fmt.Errorf("%w: %d blobs vanished while they were copied; a maintenance is at work", ErrSource, vanished))
		}
		w.Log("info", fmt.Sprintf("Looking again, %d blobs vanished from the source meanwhile", vanished))
		if src, err = w.listSource(ctx); err != nil {
			return AtSource(err)
		}
	}
	if err := w.verify(ctx, src); err != nil {
		return AtDestination(err)
	}
	if err := w.prolong(ctx, src, dst); err != nil {
		return AtDestination(err)
	}
	if err := w.finish(ctx, src); err != nil {
		return err
	}
	return w.extras(ctx, src, dst)
}

// blobList is what a store holds of kopia's.
type blobList map[blob.ID]blob.Metadata

func (l blobList) of(kind blobKind) []blob.Metadata {
	var out []blob.Metadata
	for id, m := range l {
		if kindOfBlob(id) == kind {
			out = append(out, m)
		}
	}
	return out
}

// listSource lists indexes before everything else. An index is written after the packs it names, so that whatever an
// index of the first listing names is in the second one, also while others write.
func (w *mirror) listSource(ctx context.Context) (blobList, error) {
	list := blobList{}
	for _, prefix := range []blob.ID{"x", "n", "m", "l"} {
		if err := listInto(ctx, w.src, prefix, list, func(k blobKind) bool { return k == blobIndex }); err != nil {
			return nil, err
		}
	}
	err := listInto(ctx, w.src, "", list, func(k blobKind) bool { return k != blobIndex && isCopied(k) })
	if err != nil {
		return nil, err
	}
	w.out.Total = BlobCount{}
	for _, m := range list {
		w.out.Total.add(m.Length)
	}
	return list, nil
}

func (w *mirror) listDestination(ctx context.Context) (blobList, error) {
	list := blobList{}
	return list, listInto(ctx, w.dst, "", list, func(k blobKind) bool { return k != blobForeign })
}

func listInto(ctx context.Context, st blob.Reader, prefix blob.ID, into blobList, want func(blobKind) bool) error {
	err := st.ListBlobs(ctx, prefix, func(m blob.Metadata) error {
		if want(kindOfBlob(m.BlobID)) {
			into[m.BlobID] = m
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("%w: list blobs: %w", ErrStorage, err)
	}
	return nil
}

// begin decides what the destination is, and marks an empty one as being copied into.
func (w *mirror) begin(ctx context.Context) error {
	d := w.at
	want := copyMarker{Source: w.repo.UniqueID(), Mode: copyBlobs}
	switch {
	case d.marker != nil && *d.marker != want:
		return fmt.Errorf("%w: a copy of the repository %s has begun there", ErrOccupied, d.marker.Source)
	case d.uniqueID != "" && d.uniqueID != want.Source:
		return fmt.Errorf("%w: the %s holds the repository %s, and the source is %s", ErrOtherRepository, w.Destination, d.uniqueID, want.Source)
	case d.uniqueID != "":
		if w.MustBegin && d.marker == nil {
			return fmt.Errorf("%w: the %s holds a repository", ErrOccupied, w.Destination)
		}
		w.out.Resumed = d.marker != nil
		return nil
	case d.marker != nil:
		w.out.Resumed, w.begun = true, true
		return nil
	case d.found != "":
		return fmt.Errorf("%w: the %s holds %q", ErrOccupied, w.Destination, d.found)
	case w.MustExist:
		return fmt.Errorf("%w: the %s is empty, and a copy must exist there", ErrNotInitialized, w.Destination)
	}
	w.Destination.prepare()
	if err := want.write(ctx, w.dst); err != nil {
		return err
	}
	w.out.Fresh, w.begun = true, true
	return nil
}

// verify lists the destination again: what was copied has to be there, whole.
func (w *mirror) verify(ctx context.Context, src blobList) error {
	dst, err := w.listDestination(ctx)
	if err != nil {
		return err
	}
	for id, m := range src {
		if kindOfBlob(id) == blobFormat {
			continue // the last ones; they may change meanwhile
		}
		if have, ok := dst[id]; !ok || have.Length != m.Length {
			return fmt.Errorf("%w: blob %s is not there after it was written", ErrStorage, id)
		}
	}
	return nil
}

// finish writes the blobs that make a repository of it, kopia.repository last.
func (w *mirror) finish(ctx context.Context, src blobList) error {
	var last []blob.Metadata
	for _, m := range src.of(blobFormat) {
		if m.BlobID == format.KopiaRepositoryBlobID {
			last = append(last, m)
			continue
		}
		if err := w.refresh(ctx, m); err != nil {
			return err
		}
	}
	if len(last) == 0 {
		return AtSource(fmt.Errorf("%w: the repository vanished while it was copied", ErrVanished))
	}
	if w.begun {
		// Nobody must have made a repository of it meanwhile.
		if _, err := w.dst.GetMetadata(ctx, format.KopiaRepositoryBlobID); !errors.Is(err, blob.ErrBlobNotFound) {
			if err != nil {
				return AtDestination(fmt.Errorf("%w: %w", ErrStorage, err))
			}
			return AtDestination(fmt.Errorf("%w: somebody created a repository in the %s meanwhile", ErrOccupied, w.Destination))
		}
	}
	if err := w.refresh(ctx, last[0]); err != nil {
		return err
	}
	if w.out.Fresh || w.out.Resumed {
		return AtDestination(removeMarker(ctx, w.dst))
	}
	return nil
}

// extras deals with what is at the destination only: indexes go before the packs they name.
func (w *mirror) extras(ctx context.Context, src, dst blobList) error {
	var indexes, others []blob.Metadata
	for id, m := range dst {
		if _, ok := src[id]; ok {
			continue
		}
		switch kindOfBlob(id) {
		case blobIndex:
			indexes = append(indexes, m)
		case blobData, blobLog, blobSession:
			others = append(others, m)
		case blobForeign, blobFormat: // never ours to delete
		}
	}
	if !w.DeleteExtra {
		w.out.Extra = int64(len(indexes) + len(others))
		return nil
	}
	named, err := w.repo.packsInUse(ctx)
	if err != nil {
		return AtSource(err)
	}
	keep := others[:0]
	for _, m := range others {
		if named[m.BlobID] {
			w.out.Lost++ // the only copy that is left
			w.out.Extra++
			continue
		}
		keep = append(keep, m)
	}
	if w.out.Lost > 0 {
		// Their indexes stay as well: nothing that may still help to repair the source is deleted.
		w.out.Extra += int64(len(indexes) + len(keep))
		return nil
	}
	for _, batch := range [][]blob.Metadata{indexes, keep} {
		if err := w.remove(ctx, batch); err != nil {
			return AtDestination(err)
		}
	}
	return nil
}

// packsInUse are the packs that hold contents which are not deleted.
func (r *Repository) packsInUse(ctx context.Context) (map[blob.ID]bool, error) {
	if err := r.rep.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("%w: read indexes: %w", ErrStorage, err)
	}
	out := map[blob.ID]bool{}
	err := r.rep.ContentReader().IterateContents(ctx, content.IterateOptions{}, func(i content.Info) error {
		out[i.PackBlobID] = true
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("%w: read indexes: %w", ErrStorage, err)
	}
	return out, nil
}
