// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// errNoProgress is a catalog that cannot be continued: its cursor names a moment.
var errNoProgress = errors.New("more snapshots started at the same instant than one mover can list")

// pageOverhead is what surrounds the entries of a page in its line.
const pageOverhead = 256

// catalog writes the complete snapshots, in the order in which they started. A cursor names the start of the last one
// that was written, and the list goes on with that moment: ids change and snapshots go, but nothing comes to be before
// it, so that whatever happens between two movers none is left out (J-3). At worst one is named twice.
func catalog(page func(work.Page) bool, complete []engine.Snapshot, after work.Cursor) (*work.CatalogResult, error) {
	from, err := parse(after)
	if err != nil {
		return nil, err
	}
	res := &work.CatalogResult{}
	reached := after
	var p work.Page
	size := 0
	flush := func(cursor work.Cursor) bool {
		if len(p.Snapshots) == 0 {
			return true
		}
		p.Number, p.Cursor = res.Pages+1, cursor
		if !page(p) {
			return false
		}
		res.Pages, res.Entries = p.Number, res.Entries+int64(len(p.Snapshots))
		reached = cursor
		p, size = work.Page{}, 0
		return true
	}
	var last work.Cursor
	for _, s := range slices.Backward(complete) {
		if s.Start.Before(from) {
			continue
		}
		e, n, err := entry(s)
		if err != nil {
			return nil, err
		}
		if size+n > work.MaxPageBytes-pageOverhead && !flush(last) {
			return more(res, after, reached)
		}
		p.Snapshots = append(p.Snapshots, e)
		size += n
		last = cursorOf(s)
	}
	if !flush(last) {
		return more(res, after, reached)
	}
	return res, nil
}

func more(res *work.CatalogResult, after, reached work.Cursor) (*work.CatalogResult, error) {
	if reached == after {
		return nil, errNoProgress
	}
	res.Next = reached
	return res, nil
}

func cursorOf(s engine.Snapshot) work.Cursor {
	return work.Cursor(s.Start.UTC().Format(time.RFC3339Nano))
}

func parse(c work.Cursor) (time.Time, error) {
	if c == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(c))
	if err != nil {
		return t, fmt.Errorf("%w: the catalog's cursor %q is not one", backend.ErrInvalidSpec, c)
	}
	return t, nil
}

// entry describes one snapshot, and says how long that is.
func entry(s engine.Snapshot) (work.CatalogEntry, int, error) {
	e := work.CatalogEntry{
		SnapshotID: s.ID, Identity: work.Identity{Username: s.Identity.Username, Hostname: s.Identity.Hostname, Path: s.Identity.Path},
		// The whole start: two snapshots of one second are two.
		StartTime: s.Start.UTC(), EndTime: op.Whole(s.End), SizeBytes: s.Size, FileCount: s.Files,
		Description: work.Clip(s.Description, work.MaxDescriptionBytes), Tags: s.Tags, Pinned: len(s.Pins) > 0, FilesFailed: s.Failed,
	}
	n, err := length(e)
	if n > work.MaxPageBytes-pageOverhead {
		// Other clients set no bounds. What Kopiur reads itself is kept.
		e.Description, e.Tags = "", ownTags(s.Tags)
		n, err = length(e)
	}
	return e, n, err
}

func length(e work.CatalogEntry) (int, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("describe snapshot %s: %w", e.SnapshotID, err)
	}
	return len(b) + 1, nil
}

func ownTags(in map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		if strings.HasPrefix(k, work.TagConfig) && len(v) <= work.MaxDescriptionBytes {
			out[k] = v
		}
	}
	return out
}
