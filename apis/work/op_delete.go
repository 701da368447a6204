// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"fmt"
	"time"
)

// MaxDeleteMembers is how many snapshots one mover deletes at most: their names fit into a Spec, and what became of each
// into a Result.
const MaxDeleteMembers = 1000

// Delete removes snapshots from the repository, all over one connection (D-2). A member that is not there is done
// already.
type Delete struct {
	// Sources are the identities of the members, each once: a thousand members of a few policies have to fit into a Spec.
	Sources []Identity     `json:"sources"`
	Members []DeleteMember `json:"members"`
}

// DeleteMember names one snapshot.
type DeleteMember struct {
	ID string `json:"id,omitempty"`
	// Source is an index into Sources.
	Source int       `json:"source"`
	Start  time.Time `json:"start,omitzero"`
}

// NewDelete asks for the removal of snapshots, in this order.
func NewDelete(keys []SnapshotKey) *Delete {
	d := &Delete{}
	index := map[Identity]int{}
	for _, k := range keys {
		i, ok := index[k.Identity]
		if !ok {
			i = len(d.Sources)
			index[k.Identity] = i
			d.Sources = append(d.Sources, k.Identity)
		}
		d.Members = append(d.Members, DeleteMember{ID: k.SnapshotID, Source: i, Start: k.StartTime.UTC().Truncate(time.Second)})
	}
	return d
}

// Keys is what NewDelete was given.
func (d Delete) Keys() ([]SnapshotKey, error) {
	if len(d.Members) > MaxDeleteMembers {
		return nil, fmt.Errorf("delete %d snapshots: at most %d at a time", len(d.Members), MaxDeleteMembers)
	}
	out := make([]SnapshotKey, len(d.Members))
	for i, m := range d.Members {
		if m.Source < 0 || m.Source >= len(d.Sources) {
			return nil, fmt.Errorf("delete snapshot %s: there is no source %d", m.ID, m.Source)
		}
		out[i] = SnapshotKey{SnapshotID: m.ID, Identity: d.Sources[m.Source], StartTime: m.Start}
	}
	return out, nil
}

// DeleteOutcome is what became of one member, as one letter.
type DeleteOutcome byte

// Outcomes of a member.
const (
	// DeleteDone: it was there and is deleted.
	DeleteDone DeleteOutcome = 'd'
	// DeleteGone: it was not there.
	DeleteGone DeleteOutcome = 'g'
	// DeleteRefused: its id names another snapshot, or more than one has its identity and start time. Nothing was deleted
	// for it.
	DeleteRefused DeleteOutcome = 'r'
)

// DeleteResult says what became of every member. Without it, or without Outcomes, nothing is known to be deleted: the
// batch is one write, and its retry finds those that went as gone.
type DeleteResult struct {
	Deleted int64 `json:"deleted"`
	Gone    int64 `json:"gone"`
	Refused int64 `json:"refused,omitempty"`
	// Outcomes has one letter per member, in the order of the Spec.
	Outcomes DeleteOutcomes `json:"outcomes,omitempty"`
}

// DeleteOutcomes has one DeleteOutcome per member. It is a type of its own so that it is never taken for a text.
type DeleteOutcomes string

// Outcome is what became of the i-th member; false where that is not known.
func (r DeleteResult) Outcome(i int) (DeleteOutcome, bool) {
	if i < 0 || i >= len(r.Outcomes) {
		return 0, false
	}
	switch o := DeleteOutcome(r.Outcomes[i]); o {
	case DeleteDone, DeleteGone, DeleteRefused:
		return o, true
	default:
		return 0, false
	}
}
