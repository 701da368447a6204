// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"slices"
	"strings"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Doomed are the copies that spec.pruning does not keep, the oldest first, and why none is named although pruning is asked
// for. It is asked after a run that succeeded; copies that are being deleted, pinned, or not of this replication stay.
func Doomed(w World, records []work.CopyRecord, whole bool, snapshots []*kopiurv1.Snapshot) (doomed []*kopiurv1.Snapshot, held string) {
	p := w.Replication.Spec.Pruning
	if !Prunes(w.Replication) {
		return nil, ""
	}
	switch {
	case !whole:
		return nil, "a part of what the mover told was not seen, and what it names must not pass for gone"
	case len(records) == 0:
		return nil, "the source lists no snapshot that has a copy, which it may not be meant to"
	}
	var copies []*kopiurv1.Snapshot
	for _, s := range snapshots {
		if Mine(w, s) && s.DeletionTimestamp == nil && s.Status.Phase == kopiurv1.SnapshotSucceeded {
			copies = append(copies, s)
		}
	}
	if p.Retention != nil {
		return retention.Doomed(retention.OfCopies(p.Retention, copies)), ""
	}
	there := make(map[Key]bool, len(records))
	for _, r := range records {
		there[KeyOf(r)] = true
	}
	selection := Selection(w.Replication)
	for _, s := range copies {
		k, ok := keyOf(s)
		switch {
		case !ok || there[k] || pinned(s):
		case s.Annotations[kopiurv1.AnnotationCopiedFromID] != w.Source.Status.UniqueID:
			// Its original was in another repository, which is not the one that was listed.
		case !selection.Selects(work.Identity{Username: k.Identity.Username, Hostname: k.Identity.Hostname, Path: k.Identity.SourcePath}):
			// Nobody has looked for its original.
		default:
			doomed = append(doomed, s)
		}
	}
	slices.SortFunc(doomed, func(a, b *kopiurv1.Snapshot) int {
		return strings.Compare(a.Status.CopiedFrom.StartTime+a.Name, b.Status.CopiedFrom.StartTime+b.Name)
	})
	return doomed, ""
}

func pinned(s *kopiurv1.Snapshot) bool {
	return s.Spec.Pin || s.Status.Pinned != nil && *s.Status.Pinned
}
