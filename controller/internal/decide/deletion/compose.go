// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

const (
	// MaxMembers of one Job.
	MaxMembers = 200
	// Quiet is how long nothing must have been deleted before a Job is made: one Job then takes a whole wave, and a wave is
	// counted before the first of it runs.
	Quiet = 10 * time.Second
	// MaxQuiet is how long the first deletion waits for the last, where they never cease.
	MaxQuiet = 5 * time.Minute
)

// Candidate is a Snapshot whose data may be deleted.
type Candidate struct {
	Namespace, Name string
	UID             types.UID
	DeletedAt       time.Time
	// Failed attempts, and when the last one was recorded.
	Attempts int32
	FailedAt time.Time
}

// CandidateOf reads a Snapshot.
func CandidateOf(s *kopiurv1.Snapshot) Candidate {
	c := Candidate{Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	if s.DeletionTimestamp != nil {
		c.DeletedAt = s.DeletionTimestamp.Time
	}
	if d := s.Status.Deletion; d != nil {
		c.Attempts = d.Attempts
		if at, err := time.Parse(time.RFC3339, d.FailedAt); err == nil {
			c.FailedAt = at
		}
	}
	return c
}

// Rests is how long a Snapshot still waits after a failure. now is the time by which failures are recorded.
func (c Candidate) Rests(now time.Time) time.Duration {
	if c.Attempts == 0 || c.FailedAt.IsZero() || c.FailedAt.After(now) {
		return 0
	}
	return max(0, connect.Ladder(c.Attempts)-now.Sub(c.FailedAt))
}

// Compose picks the members of the next Job, in a fixed order, so that whoever composes from the same facts makes the
// same Job. Without members, the duration is when to ask again; zero is when something changes. server is the time by
// which the API server stamps deletions, now that by which failures are recorded.
func Compose(candidates []Candidate, server, now time.Time) ([]Candidate, time.Duration) {
	var ready []Candidate
	var first, last time.Time
	var rest time.Duration
	for _, c := range candidates {
		if wait := c.Rests(now); wait > 0 {
			if rest == 0 || wait < rest {
				rest = wait
			}
			continue
		}
		ready = append(ready, c)
		if c.DeletedAt.After(last) {
			last = c.DeletedAt
		}
		if first.IsZero() || c.DeletedAt.Before(first) {
			first = c.DeletedAt
		}
	}
	if len(ready) == 0 {
		return nil, rest
	}
	if quiet := last.Add(Quiet).Sub(server); quiet > 0 && server.Sub(first) < MaxQuiet {
		// A clock that is behind must not make anybody wait for hours.
		return nil, min(quiet, Quiet)
	}
	slices.SortFunc(ready, func(a, b Candidate) int {
		if d := a.DeletedAt.Compare(b.DeletedAt); d != 0 {
			return d
		}
		return strings.Compare(string(a.UID), string(b.UID))
	})
	return ready[:min(len(ready), MaxMembers)], 0
}

// SetName stands for a set of members, in whatever order they come.
func SetName(members []Candidate) string {
	uids := make([]string, len(members))
	for i, m := range members {
		uids[i] = string(m.UID)
	}
	slices.Sort(uids)
	sum := sha256.Sum256([]byte(strings.Join(uids, "\n")))
	return hex.EncodeToString(sum[:])
}

// KeyOf is how the mover is told which snapshot a Snapshot means: its id, and what never changes, by which it is found
// when the id was replaced by a pin (acceptance K-3).
func KeyOf(s *kopiurv1.Snapshot) work.SnapshotKey {
	var k work.SnapshotKey
	if st := s.Status.Snapshot; st != nil {
		k.SnapshotID = st.KopiaSnapshotID
		k.Identity = work.Identity{Username: st.Identity.Username, Hostname: st.Identity.Hostname, Path: st.Identity.SourcePath}
	}
	if t := s.Status.Timing; t != nil {
		if at, err := time.Parse(time.RFC3339, t.StartTime); err == nil {
			k.StartTime = at
		}
	}
	return k
}

// Addressed reports whether a key is enough to find a snapshot. One that is not would fail the Job of all others.
func Addressed(k work.SnapshotKey) bool {
	i := k.Identity
	return i.Username != "" && i.Hostname != "" && i.Path != "" && (k.SnapshotID != "" || !k.StartTime.IsZero())
}

// RepositoryOf is where a Snapshot's data lies, as far as the Snapshot itself says so.
func RepositoryOf(s *kopiurv1.Snapshot) *kopiurv1.RepositoryRef { return mapper.PinnedRepository(s) }
