// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// snapshots stores n snapshots of one identity and returns their keys, oldest first. Each starts in a second of its own.
func (p *pod) snapshots(n int) []work.SnapshotKey {
	p.t.Helper()
	var out []work.SnapshotKey
	for i := range n {
		p.write(p.source, "a", fmt.Sprint("content ", i))
		s := p.snapshot()
		s.RequestID = fmt.Sprint("request of ", p.source, " ", i)
		r := p.ok(s).Snapshot
		out = append(out, work.SnapshotKey{SnapshotID: r.SnapshotID, Identity: identity, StartTime: r.StartTime})
		for next := r.StartTime.Add(time.Second); i < n-1 && time.Now().Before(next); {
			<-time.After(time.Until(next))
		}
	}
	return out
}

func (p *pod) count() int64 {
	p.t.Helper()
	return p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})).Bootstrap.SnapshotCount
}

// D-2, D-3: one mover deletes many, says of each what became of it, and is harmless to repeat.
func TestDeleteReportsEveryMember(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	keys := p.snapshots(3)
	gone := work.SnapshotKey{SnapshotID: strings.Repeat("0", 32), Identity: identity, StartTime: keys[0].StartTime.Add(-time.Hour)}
	wrong := keys[2]
	wrong.StartTime = wrong.StartTime.Add(time.Hour)
	batch := p.spec(work.Operation{Delete: work.NewDelete([]work.SnapshotKey{keys[0], gone, wrong, keys[1]})})
	r, exit := p.run(batch)
	assert.Equal(t, work.CodeSnapshotMismatch, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Equal(t, work.DeleteResult{Deleted: 2, Gone: 1, Refused: 1, Outcomes: "dgrd"}, *r.Delete)
	assert.Contains(t, p.out.String(), keys[2].SnapshotID, "the log names what was kept")
	assert.Equal(t, int64(1), p.count())

	r, _ = p.run(batch)
	assert.Equal(t, work.DeleteOutcomes("ggrg"), r.Delete.Outcomes)
	ok := p.ok(p.spec(work.Operation{Delete: work.NewDelete(keys)})).Delete
	assert.Equal(t, work.DeleteOutcomes("ggd"), ok.Outcomes)
	assert.Zero(t, p.count())
}

func TestDeleteRefuses(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	key := p.snapshots(1)[0]
	for name, tc := range map[string]struct { //nolint:paralleltest // one pod for all
		keys   []work.SnapshotKey
		change func(*work.Spec)
	}{
		"a member without an identity":            {[]work.SnapshotKey{key, {SnapshotID: key.SnapshotID}}, func(*work.Spec) {}},
		"a member without an id and without time": {[]work.SnapshotKey{key, {Identity: identity}}, func(*work.Spec) {}},
		"a repository that is read-only":          {[]work.SnapshotKey{key}, func(s *work.Spec) { s.Repository.ReadOnly = true }},
	} {
		t.Run(name, func(t *testing.T) {
			s := p.spec(work.Operation{Delete: work.NewDelete(tc.keys)})
			tc.change(&s)
			r, exit := p.run(s)
			assert.Equal(t, work.CodeInvalidSpec, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
			assert.Nil(t, r.Delete)
			assert.Equal(t, int64(1), p.count(), "nothing is deleted")
		})
	}
}

// K-3, J-4: what is to be pinned is stored pinned, so that its id need not change; a retry finds it as it is.
func TestASnapshotIsStoredPinned(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	s := p.snapshot()
	s.Operation.Snapshot.Pinned = true
	stored := p.ok(s).Snapshot
	assert.True(t, stored.Pinned)
	again := p.ok(s).Snapshot
	assert.True(t, again.Found)
	assert.True(t, again.Pinned)
	key := work.SnapshotKey{SnapshotID: stored.SnapshotID, Identity: identity, StartTime: stored.StartTime}
	pin := p.ok(p.spec(work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: true}})).Pin
	assert.False(t, pin.Changed)
	assert.Equal(t, stored.SnapshotID, pin.SnapshotID)

	s.RequestID, s.Operation.Snapshot.Pinned = "another", false
	assert.False(t, p.ok(s).Snapshot.Pinned)
}

// K-3, J-4, J-5, B-5: the answer to a pin is the new id, and all that hold the old one still find the snapshot.
func TestPinAnswersWithTheNewID(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	key := p.snapshots(1)[0]
	pin := func(want bool) *work.PinResult {
		t.Helper()
		r := p.ok(p.spec(work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: want}})).Pin
		assert.Equal(t, want, r.Pinned)
		assert.Equal(t, key.StartTime, r.StartTime)
		return r
	}
	first := pin(true)
	assert.True(t, first.Changed)
	require.NotEqual(t, key.SnapshotID, first.SnapshotID)
	again := pin(true)
	assert.False(t, again.Changed)
	assert.Equal(t, first.SnapshotID, again.SnapshotID)
	assert.True(t, pin(false).Changed, "a toggle is done by the mover, not by an earlier one's answer")
	assert.False(t, pin(false).Changed)

	restore := work.Restore{SnapshotID: key.SnapshotID, Identity: identity, StartTime: &key.StartTime, TargetPath: p.target}
	r := p.ok(p.spec(work.Operation{Restore: &restore})).Restore
	assert.NotEqual(t, key.SnapshotID, r.SnapshotID)
	assert.Equal(t, int64(1), p.count())
	assert.Equal(t, int64(1), p.ok(p.spec(work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})})).Delete.Deleted)
	missing, exit := p.run(p.spec(work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: true}}))
	assert.Equal(t, work.CodeNotFound, missing.Code)
	assert.Equal(t, work.ExitPermanent, exit)
}
