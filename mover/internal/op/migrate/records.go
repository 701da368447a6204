// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// pageOverhead is what a page has beside its records.
const pageOverhead = 256

var errNoProgress = errors.New("more snapshots started at one moment than a stream holds")

// records writes a record of each pair, in the order in which the snapshots started. Where the stream is full the result
// names the start of the last one that was written; the next mover goes on with that moment, so that at worst one is
// named twice.
func records(page func(work.Page) bool, res *work.MigrateResult, pairs []engine.Pair, present bool, from time.Time, after work.Cursor) error {
	slices.SortStableFunc(pairs, func(a, b engine.Pair) int {
		return cmp.Or(a.Source.Start.Compare(b.Source.Start), cmp.Compare(a.Source.Identity.String(), b.Source.Identity.String()))
	})
	var (
		p       work.Page
		size    int
		last    work.Cursor
		reached = after
	)
	flush := func() bool {
		if len(p.Copies) == 0 {
			return true
		}
		p.Number, p.Cursor = res.Pages+1, last
		if !page(p) {
			return false
		}
		res.Pages, reached = p.Number, last
		p, size = work.Page{}, 0
		return true
	}
	full := func() error {
		if reached == after {
			return errNoProgress
		}
		res.Cursor = reached
		return nil
	}
	for _, pair := range pairs {
		if pair.Present && !present || pair.Source.Start.Before(from) {
			continue
		}
		r := record(pair)
		b, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("describe snapshot %s: %w", r.SourceID, err)
		}
		if size+len(b) >= work.MaxPageBytes-pageOverhead && !flush() {
			return full()
		}
		p.Copies = append(p.Copies, r)
		size += len(b) + 1
		last = work.Cursor(r.StartTime.Format(time.RFC3339Nano))
	}
	if !flush() {
		return full()
	}
	return nil
}

func record(p engine.Pair) work.CopyRecord {
	return work.CopyRecord{
		SourceID: p.Source.ID, SnapshotID: p.Copy.ID, Identity: work.Identity(p.Copy.Identity),
		StartTime: p.Copy.Start.UTC(), EndTime: p.Copy.End.UTC(), SizeBytes: p.Copy.Size, FileCount: p.Copy.Files, Present: p.Present,
		By: p.Copy.Tags[engine.TagCopiedBy], Pinned: p.Copy.Pinned(),
	}
}

func parse(c work.Cursor) (time.Time, error) {
	if c == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(c))
	if err != nil {
		return t, fmt.Errorf("%w: the cursor %q is not one", backend.ErrInvalidSpec, c)
	}
	return t, nil
}
