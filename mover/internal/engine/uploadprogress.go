// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/kopia/kopia/snapshot/snapshotfs"
	"github.com/kopia/kopia/snapshot/upload"
)

// Counters say how far an operation has come. They may be read at any time by any goroutine.
type Counters struct {
	Bytes, Files           atomic.Int64
	TotalBytes, TotalFiles atomic.Int64

	hashed atomic.Int64
}

// Reset begins again at zero.
func (c *Counters) Reset() {
	for _, n := range []*atomic.Int64{&c.Bytes, &c.Files, &c.TotalBytes, &c.TotalFiles, &c.hashed} {
		n.Store(0)
	}
}

// uploadProgress feeds Counters. Kopia's own CountingUploadProgress never counts uploaded bytes.
type uploadProgress struct {
	upload.NullUploadProgress

	c *Counters
}

// Enabled is false: kopia would then walk the source a second time through the counting wrapper. See estimate.
func (p *uploadProgress) Enabled() bool { return false }

func (p *uploadProgress) CachedFile(_ string, n int64) { p.c.Bytes.Add(n) }
func (p *uploadProgress) FinishedFile(string, error)   { p.c.Files.Add(1) }
func (p *uploadProgress) HashedBytes(n int64)          { p.c.Bytes.Add(n); p.c.hashed.Add(n) }

// estimateAfter is how long an upload lasts before its totals are worth a walk.
const estimateAfter = 10 * time.Second

// estimate tells the totals: those of the snapshot before, where there is one, because they are nearly right and cost
// nothing. Otherwise it walks the source beside the upload, if that takes so long that somebody may want to know; the
// function it returns ends the walk and waits.
func (r *Repository) estimate(ctx context.Context, u Upload, tree *policy.Tree, prev []*snapshot.Manifest) (stop func()) {
	for _, m := range prev {
		if m.IncompleteReason == "" && m.RootEntry.DirSummary != nil {
			u.Progress.TotalBytes.Store(m.RootEntry.DirSummary.TotalFileSize)
			u.Progress.TotalFiles.Store(m.RootEntry.DirSummary.TotalFileCount)
			return func() {}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-time.After(estimateAfter):
		}
		counts := newSourceCounts()
		counts.noXattrs.Store(true) // the upload counts them
		root, err := openSource(u.Path, nil, counts)
		if err != nil {
			return
		}
		defer root.src.close()
		_ = upload.Estimate(ctx, root, tree, estimateProgress{u.Progress}, 0) // totals are a courtesy
	}()
	return func() {
		cancel()
		<-done
	}
}

type estimateProgress struct{ c *Counters }

func (estimateProgress) Processing(context.Context, string)         {}
func (estimateProgress) Error(context.Context, string, error, bool) {}

func (e estimateProgress) Stats(_ context.Context, s *snapshot.Stats, _, _ upload.SampleBuckets, _ []string, final bool) {
	if final {
		e.c.TotalBytes.Store(atomic.LoadInt64(&s.TotalFileSize))
		e.c.TotalFiles.Store(int64(atomic.LoadInt32(&s.TotalFileCount)))
	}
}

func previousDirs(rep repo.Repository, ms []*snapshot.Manifest) []fs.Directory {
	var out []fs.Directory
	for _, m := range ms {
		if e, err := snapshotfs.SnapshotRoot(rep, m); err == nil {
			if d, ok := e.(fs.Directory); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

func optional(b *bool) *policy.OptionalBool {
	if b == nil {
		return nil
	}
	return policy.NewOptionalBool(policy.OptionalBool(*b))
}

// sorted returns a sorted copy: kopia searches the list of extensions by halves.
func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}
