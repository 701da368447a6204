// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"sync"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/kopia/kopia/snapshot/snapshotfs"
	"github.com/minio/minio-go/v7"
)

// errUnreadable marks content that the source cannot give.
var errUnreadable = fmt.Errorf("%w: the content cannot be read at the source", ErrStorage)

// TagCopy on a copied snapshot names the root object it was copied from. A copy that carries it is equal to its source,
// entry by entry, so what did not change since can be taken over from it unread.
const TagCopy = "kopiur-copy"

// TagCopiedBy on a copied snapshot names whom it was copied for.
const TagCopiedBy = "kopiur-copied-by"

// snapshot copies one snapshot and saves its manifest. Kopia's own migration uploads the entries anew, which gives every
// folder another time; here each folder is copied as it is stored, with new ids of its content and nothing else changed.
func (w *migrator) snapshot(ctx context.Context, l *lineage, s Snapshot) (Snapshot, error) {
	if s.manifest.RootEntry == nil {
		return Snapshot{}, fmt.Errorf("%w: %w", errUnreadable, errNoRoot)
	}
	effective, _, _, err := policy.GetEffectivePolicy(ctx, w.to.rep, s.source())
	if err != nil {
		return Snapshot{}, AtDestination(fmt.Errorf("%w: read the policy of %s: %w", ErrStorage, s.Identity, err))
	}
	c := &treeCopy{migrator: w, policy: effective}
	base := l.base(s)
	id, err := c.entry(ctx, s.manifest.RootEntry, base, "")
	if err != nil {
		return Snapshot{}, err
	}
	m := s.manifest.Clone()
	m.StorageStats = nil // of another store
	m.RootEntry.ObjectID = id
	m.Tags = maps.Clone(s.manifest.Tags)
	if m.Tags == nil {
		m.Tags = map[string]string{}
	}
	m.Tags[tagPrefix+TagCopy] = s.RootID
	delete(m.Tags, tagPrefix+TagCopiedBy) // of a copy that is copied on
	if w.By != "" {
		m.Tags[tagPrefix+TagCopiedBy] = w.By
	}
	if _, err := snapshot.SaveSnapshot(ctx, w.w, m); err != nil {
		return Snapshot{}, AtDestination(fmt.Errorf("%w: save snapshot: %w", ErrStorage, err))
	}
	return snapshotOf(m), nil
}

// pair is an entry in both repositories, with equal content.
type pair struct{ from, to *snapshot.DirEntry }

// base is the snapshot before, in both repositories, or nothing.
func (l *lineage) base(s Snapshot) pair {
	for _, before := range slices.Backward(l.source) {
		have, ok := l.copies[before.Start]
		if !before.Start.Before(s.Start) || !ok || have.Tags[TagCopy] != before.RootID {
			continue
		}
		return pair{before.manifest.RootEntry, have.manifest.RootEntry}
	}
	return pair{}
}

// treeCopy copies the tree of one snapshot.
type treeCopy struct {
	*migrator

	policy *policy.Policy
}

// entry copies what an entry stands for and returns its id at the destination.
func (c *treeCopy) entry(ctx context.Context, e *snapshot.DirEntry, base pair, rel string) (object.ID, error) {
	if err := context.Cause(ctx); err != nil {
		return object.EmptyID, err
	}
	if base.from != nil && base.to != nil && base.from.Type == e.Type && base.from.ObjectID == e.ObjectID {
		c.skipped(e)
		return base.to.ObjectID, nil
	}
	if e.Type == snapshot.EntryTypeDirectory {
		return c.dir(ctx, e, base, rel)
	}
	n, id, err := c.object(ctx, e)
	if err != nil {
		return object.EmptyID, fmt.Errorf("copy %s: %w", rel, err)
	}
	if e.Type == snapshot.EntryTypeFile {
		c.Progress.Files.Add(1)
		c.count(func(o *Migrated) { o.Bytes += n })
	}
	return id, nil
}

// skipped counts what did not have to be read.
func (c *treeCopy) skipped(e *snapshot.DirEntry) {
	switch {
	case e.DirSummary != nil:
		c.Progress.Bytes.Add(e.DirSummary.TotalFileSize)
		c.Progress.Files.Add(e.DirSummary.TotalFileCount)
	case e.Type == snapshot.EntryTypeFile:
		c.Progress.Bytes.Add(e.FileSize)
		c.Progress.Files.Add(1)
	}
}

// dir copies a folder: what is in it, in other workers as long as there are any, then the list of it.
func (c *treeCopy) dir(ctx context.Context, e *snapshot.DirEntry, base pair, rel string) (object.ID, error) {
	m, err := readManifest(ctx, c.from.rep, e)
	if err != nil {
		return object.EmptyID, AtSource(fmt.Errorf("copy %s: %w: %w", rel, errUnreadable, err))
	}
	before := c.children(ctx, base)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	run := func(child *snapshot.DirEntry) {
		id, err := c.entry(ctx, child, before[child.Name], path.Join(rel, child.Name))
		if err != nil {
			cancel(err) // the first one wins
			return
		}
		child.ObjectID = id
	}
	for _, child := range m.Entries {
		if ctx.Err() != nil {
			break
		}
		select {
		case c.slot <- struct{}{}:
			wg.Go(func() {
				defer func() { <-c.slot }()
				run(child)
			})
		default:
			run(child)
		}
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return object.EmptyID, err
	}
	id, err := snapshotfs.WriteDirManifest(ctx, c.w, rel, m, c.policy.MetadataCompressionPolicy.MetadataCompressor())
	if err != nil {
		return object.EmptyID, AtDestination(fmt.Errorf("%w: write folder %s: %w", ErrStorage, rel, err))
	}
	return id, nil
}

// children pairs the entries of a folder that is in both repositories. Where one of the two cannot be read there are
// none, and everything is copied.
func (c *treeCopy) children(ctx context.Context, base pair) map[string]pair {
	if base.from == nil || base.to == nil || base.from.Type != snapshot.EntryTypeDirectory || base.to.Type != snapshot.EntryTypeDirectory {
		return nil
	}
	from, err := readManifest(ctx, c.from.rep, base.from)
	if err != nil {
		return nil
	}
	to, err := readManifest(ctx, c.w, base.to) // what this run wrote is not published yet
	if err != nil {
		return nil
	}
	out := make(map[string]pair, len(from.Entries))
	for _, e := range from.Entries {
		out[e.Name] = pair{from: e}
	}
	for _, e := range to.Entries {
		if p, ok := out[e.Name]; ok {
			p.to = e
			out[e.Name] = p
		}
	}
	return out
}

func readManifest(ctx context.Context, r repo.Repository, e *snapshot.DirEntry) (*snapshot.DirManifest, error) {
	rd, err := r.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return nil, storageError("read a folder", err)
	}
	defer rd.Close()
	var m snapshot.DirManifest
	if err := json.NewDecoder(rd).Decode(&m); err != nil {
		return nil, storageError("read a folder", err)
	}
	return &m, nil
}

// object copies the content of a file or link.
func (c *treeCopy) object(ctx context.Context, e *snapshot.DirEntry) (int64, object.ID, error) {
	rd, err := c.from.rep.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return 0, object.EmptyID, AtSource(fmt.Errorf("%w: %w", errUnreadable, err))
	}
	defer rd.Close()
	like := snapshotfs.EntryFromDirEntry(c.from.rep, e)
	w := c.w.NewObjectWriter(ctx, object.WriterOptions{
		Description: "COPY:" + e.Name,
		Compressor:  c.policy.CompressionPolicy.CompressorForFile(like), MetadataCompressor: c.policy.MetadataCompressionPolicy.MetadataCompressor(),
		Splitter: c.policy.SplitterPolicy.SplitterForFile(like),
	})
	defer w.Close()
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	var n int64
	for {
		if err := context.Cause(ctx); err != nil {
			return n, object.EmptyID, err
		}
		k, rerr := io.ReadFull(rd, buf[:])
		if k > 0 {
			if _, err := w.Write(buf[:k]); err != nil {
				return n, object.EmptyID, AtDestination(fmt.Errorf("%w: %w", ErrStorage, err))
			}
			n += int64(k)
			if e.Type == snapshot.EntryTypeFile {
				c.Progress.Bytes.Add(int64(k))
			}
		}
		if errors.Is(rerr, io.EOF) || errors.Is(rerr, io.ErrUnexpectedEOF) {
			break
		}
		if rerr != nil {
			return n, object.EmptyID, AtSource(fmt.Errorf("%w: %w", errUnreadable, rerr))
		}
	}
	id, err := w.Result()
	if err != nil {
		return n, object.EmptyID, AtDestination(fmt.Errorf("%w: %w", ErrStorage, err))
	}
	return n, id, nil
}

// isOutage tells a store that does not answer from content that it has not got.
func isOutage(err error) bool {
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, ErrStoreCredentials) {
		return true
	}
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized)
}
