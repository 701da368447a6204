// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Entry is one stored snapshot.
type Entry struct {
	ID string
	// Identity is shared by all entries of it.
	Identity            *kopiurv1.Identity
	Start, End          time.Time
	Size, Files, Failed int64
	Description         string
	// Request is the UID of the Snapshot that it was made for, "" where no Kopiur made it.
	Request string
	Pinned  bool
	// Recorded is whom its mover ran as, nil where no Kopiur made it. It is shared like Identity.
	Recorded *kopiurv1.Recorded
}

// Listing gathers the pages of one or several movers. It is kept in memory, some 200 bytes for each snapshot: a process
// that ends before the last page begins anew.
type Listing struct {
	// Generation of the spec and Token of the annotation that were there when it began.
	Generation int64
	Token      string

	entries    []Entry
	identities map[kopiurv1.Identity]*kopiurv1.Identity
	recorded   map[string]*kopiurv1.Recorded // by their tags
	after      work.Cursor
	unreadable int64
	complete   bool
	// Of the present mover: how many pages came, and whether the next one is its first.
	pages int
	last  work.Cursor
}

// NewListing begins one.
func NewListing(generation int64, token string) *Listing {
	return &Listing{
		Generation: generation, Token: token,
		identities: map[kopiurv1.Identity]*kopiurv1.Identity{}, recorded: map[string]*kopiurv1.Recorded{},
	}
}

// After is where the next mover goes on.
func (l *Listing) After() work.Cursor { return l.after }

// Complete reports that the last page has come.
func (l *Listing) Complete() bool { return l.complete }

// Len counts the snapshots that were named so far.
func (l *Listing) Len() int { return len(l.entries) }

// Begin expects the first page of the next mover.
func (l *Listing) Begin() { l.pages, l.last = 0, "" }

// Take adds a page. It refuses one whose number does not follow: what comes after a gap is worth nothing.
func (l *Listing) Take(p work.Page) bool {
	if p.Number != l.pages+1 {
		return false
	}
	if l.pages == 0 && len(p.Snapshots) > 0 {
		l.forget(p.Snapshots[0].StartTime)
	}
	for _, e := range p.Snapshots {
		l.entries = append(l.entries, l.entry(e))
	}
	l.pages, l.last = p.Number, p.Cursor
	return true
}

// forget drops what the next mover names again: it goes on with the instant at which the one before it ended.
func (l *Listing) forget(from time.Time) {
	n := len(l.entries)
	for n > 0 && !l.entries[n-1].Start.Before(from) {
		n--
	}
	l.entries = l.entries[:n]
}

func (l *Listing) entry(e work.CatalogEntry) Entry {
	id := kopiurv1.Identity{Username: e.Identity.Username, Hostname: e.Identity.Hostname, SourcePath: e.Identity.Path}
	shared := l.identities[id]
	if shared == nil {
		shared = &id
		l.identities[id] = shared
	}
	return Entry{
		ID: e.SnapshotID, Identity: shared, Start: e.StartTime, End: e.EndTime, Size: e.SizeBytes, Files: e.FileCount,
		Failed: e.FilesFailed, Description: work.Clip(e.Description, work.MaxDescriptionBytes), Request: e.Tags[work.TagRequest], Pinned: e.Pinned,
		Recorded: l.recordedOf(e.Tags[work.TagMeta]),
	}
}

// recordedOf reads whom a mover ran as from the tag that Kopiur puts on its snapshots. What it cannot read it passes over: a
// restore that asks for it then says that nobody knows.
func (l *Listing) recordedOf(tag string) *kopiurv1.Recorded {
	if tag == "" || len(tag) > work.MaxDescriptionBytes {
		return nil
	}
	if known, ok := l.recorded[tag]; ok {
		return known
	}
	var meta work.RecordedMeta
	var out *kopiurv1.Recorded
	if err := json.Unmarshal([]byte(tag), &meta); err == nil && meta.Schema == work.RecordedSchema {
		out = &kopiurv1.Recorded{Schema: work.RecordedSchema, Src: meta.Src, UID: meta.UID, GID: meta.GID, FSGroup: meta.FSGroup}
	}
	l.recorded[tag] = out
	return out
}

// End closes the pages of a mover by what its result says of them, and reports whether the listing has come further.
// unreadable counts manifests that it could not decode.
func (l *Listing) End(r work.CatalogResult, unreadable int64) bool {
	l.unreadable = max(l.unreadable, unreadable)
	switch {
	case l.pages < r.Pages:
		if l.last == "" || l.last == l.after {
			return false
		}
		l.after = l.last
	case r.Next == "":
		l.complete = true
	case r.Next == l.after:
		return false
	default:
		l.after = r.Next
	}
	return true
}
