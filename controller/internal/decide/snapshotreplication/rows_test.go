// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
)

func pruning(p kopiurv1.ReplicationPruning) change {
	return func(w *decide.World) { w.Replication.Spec.Pruning = &p }
}

func mirror(w *decide.World) {
	w.Replication.Spec.Pruning = &kopiurv1.ReplicationPruning{MirrorSource: &kopiurv1.PruneMirrorSource{}}
}

func keepLatest(n int32) change {
	return pruning(kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepLatest: &n}})
}

// Every row but the first two is a refusal to delete.
func TestDoomed(t *testing.T) {
	t.Parallel()
	each := func(f func(*kopiurv1.Snapshot)) func([]*kopiurv1.Snapshot) {
		return func(list []*kopiurv1.Snapshot) {
			for _, s := range list {
				f(s)
			}
		}
	}
	none := func([]*kopiurv1.Snapshot) {}
	for name, tc := range map[string]struct {
		w     decide.World
		told  []work.CopyRecord
		whole bool
		// edit the six copies.
		edit func([]*kopiurv1.Snapshot)
		want int
		held bool
	}{
		"copies whose original is gone":           {given(mirror), records(2, 6), true, none, 2, false},
		"copies that the rules do not keep":       {given(keepLatest(4)), records(0, 6), true, none, 2, false},
		"nothing without pruning":                 {given(), records(2, 6), true, none, 0, false},
		"nothing with pruning: none":              {given(pruning(kopiurv1.ReplicationPruning{None: &kopiurv1.PruneNone{}})), records(2, 6), true, none, 0, false},
		"nothing by a list with a hole":           {given(mirror), records(2, 6), false, none, 0, true},
		"nothing by rules beside such a list":     {given(keepLatest(1)), records(2, 6), false, none, 0, true},
		"nothing by an empty list":                {given(mirror), nil, true, none, 0, true},
		"nothing by rules beside an empty list":   {given(keepLatest(1)), nil, true, none, 0, true},
		"not what is pinned":                      {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Spec.Pin = true }), 0, false},
		"not what is pinned in the repository":    {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.Pinned = new(true) }), 0, false},
		"not what is pinned, by rules either":     {given(keepLatest(1)), records(0, 6), true, each(func(s *kopiurv1.Snapshot) { s.Spec.Pin = true }), 0, false},
		"not what goes already":                   {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = &metav1.Time{Time: now} }), 0, false},
		"not the copies of another replication":   {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Labels[kopiurv1.LabelSnapshotReplication] = "other" }), 0, false},
		"not those of one in another namespace":   {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Namespace = "other" }), 0, false},
		"not a policy's own snapshots":            {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginScheduled }), 0, false},
		"not those by rules either":               {given(keepLatest(1)), records(0, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginScheduled }), 0, false},
		"not copies in another destination":       {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.Resolved.Repository.Name = "other" }), 0, false},
		"not copies from another source":          {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.CopiedFrom.Repository.Name = "other" }), 0, false},
		"not where the source is another one now": {given(mirror, func(w *decide.World) { w.Source.Status.UniqueID = "99" }), records(2, 6), true, none, 0, false},
		"not what is not selected any more":       {given(mirror, selecting("db")), records(2, 6), true, none, 0, false},
		"not where nobody knows when it started":  {given(mirror), records(2, 6), true, each(func(s *kopiurv1.Snapshot) { s.Status.CopiedFrom.StartTime = "once" }), 0, false},
		"not while all originals are there":       {given(mirror), records(0, 6), true, none, 0, false},
		"not by rules that keep nothing":          {given(keepLatest(0)), records(0, 6), true, none, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := rows(given(), records(0, 6))
			tc.edit(all)
			doomed, held := decide.Doomed(tc.w, tc.told, tc.whole, all)
			assert.Len(t, doomed, tc.want)
			assert.Equal(t, tc.held, held != "", held)
			for i, s := range doomed {
				assert.Equal(t, all[i].Name, s.Name, "the oldest first")
			}
		})
	}
}

func TestARow(t *testing.T) {
	t.Parallel()
	w := given()
	s := decide.Row(w, record(3, func(r *work.CopyRecord) { r.Pinned = true }), now)
	assert.True(t, decide.Mine(w, s))
	assert.False(t, decide.IsUntold(s))
	assert.Empty(t, s.OwnerReferences, "it stays when the replication goes")
	assert.Equal(t, kopiurv1.DeletionDelete, s.Spec.DeletionPolicy)
	assert.Equal(t, "away", s.Spec.Repository.Name)
	assert.True(t, s.Spec.Pin)
	assert.True(t, *s.Status.Pinned, "as the copy is, so that no mover has to pin it")
	assert.Equal(t, &kopiurv1.CopiedFrom{
		Repository: kopiurv1.RepositoryRef{Name: "nas", Kind: "Repository", Namespace: "apps"}, SourceManifestID: "s03", StartTime: "2026-03-01T03:00:00.000000789Z",
	}, s.Status.CopiedFrom)
	assert.Equal(t, "c03", s.Status.Snapshot.KopiaSnapshotID)
	assert.Equal(t, "2026-03-01T03:00:00Z", s.Status.Timing.StartTime)
	assert.False(t, catalog.IsRow(s))
	fresh := s.DeepCopy()
	fresh.Status = kopiurv1.SnapshotStatus{}
	assert.True(t, decide.IsUntold(fresh))

	other := decide.Row(w, record(3, func(r *work.CopyRecord) { r.StartTime = r.StartTime.Add(1) }), now)
	assert.NotEqual(t, s.Name, other.Name, "starts of one second are two snapshots")
	again := decide.Row(w, record(3, func(r *work.CopyRecord) { r.SnapshotID = "another since it was pinned" }), now)
	assert.Equal(t, s.Name, again.Name)
}

func TestMissing(t *testing.T) {
	t.Parallel()
	w := given()
	present := func(by string) []work.CopyRecord {
		return []work.CopyRecord{record(0, func(r *work.CopyRecord) { r.Present, r.By = true, by })}
	}
	one := func(edit func(*kopiurv1.Snapshot)) []*kopiurv1.Snapshot {
		list := rows(w, records(0, 1))
		edit(list[0])
		return list
	}
	for name, tc := range map[string]struct {
		told    []work.CopyRecord
		have    []*kopiurv1.Snapshot
		want    int
		overlap string
	}{
		"what was copied has none yet":                        {records(0, 3), nil, 3, ""},
		"what has one needs no other":                         {records(0, 3), rows(w, records(0, 2)), 1, ""},
		"nor does one that was pinned since":                  {records(0, 1), one(func(s *kopiurv1.Snapshot) { s.Status.Snapshot.KopiaSnapshotID = "other" }), 0, ""},
		"nor one that is being deleted":                       {records(0, 1), one(func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = &metav1.Time{Time: now} }), 0, ""},
		"a copy of ours whose Snapshot was lost gets another": {present("u-1"), nil, 1, ""},
		"what somebody else copied is theirs":                 {present("u-2"), nil, 0, ""},
		"so is what nobody says they copied":                  {present(""), nil, 0, ""},
		"a view of what was found is none": {records(0, 1), one(func(s *kopiurv1.Snapshot) {
			s.Labels[kopiurv1.LabelOrigin], s.Status.Phase, s.Status.Origin = kopiurv1.OriginDiscovered, kopiurv1.SnapshotDiscovered, kopiurv1.OriginDiscovered
		}), 1, ""},
		"what a policy has taken over is the policy's": {records(0, 1), one(func(s *kopiurv1.Snapshot) {
			s.Status.Origin, s.Spec.PolicyRef = kopiurv1.OriginAdopted, &kopiurv1.PolicyRef{Name: "web"}
		}), 0, "SnapshotPolicy apps/web"},
		"under another id, too": {records(0, 1), one(func(s *kopiurv1.Snapshot) {
			s.Status.Origin, s.Status.Snapshot.KopiaSnapshotID = kopiurv1.OriginAdopted, "x"
			s.Labels[kopiurv1.LabelSnapshotReplication] = ""
		}), 0, "the Snapshot apps/"},
		"what another replication copied is its own": {records(0, 1), one(func(s *kopiurv1.Snapshot) { s.Labels[kopiurv1.LabelSnapshotReplication] = "second" }), 0, "SnapshotReplication apps/second"},
		"what lies in another repository is another": {records(0, 1), one(func(s *kopiurv1.Snapshot) { s.Status.Resolved.Repository.Name = "third" }), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, overlap := decide.Missing(w, tc.told, tc.have)
			assert.Len(t, got, tc.want)
			if tc.overlap == "" {
				assert.Empty(t, overlap)
			} else {
				assert.Contains(t, overlap, tc.overlap)
			}
		})
	}
}

func TestProgressDue(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) change {
		return func(w *decide.World) {
			w.Replication.Status.Progress = &kopiurv1.Progress{UpdatedAt: now.Add(-ago).Format(time.RFC3339)}
		}
	}
	run := running(kopiurv1.TriggerSchedule, passed)
	assert.False(t, decide.ProgressDue(given(), now))
	assert.True(t, decide.ProgressDue(given(run), now))
	assert.False(t, decide.ProgressDue(given(run, at(time.Second)), now))
	assert.True(t, decide.ProgressDue(given(run, at(time.Minute)), now))
	assert.True(t, decide.ProgressDue(given(run, at(-time.Hour)), now), "a clock that is ahead does not silence it")
}
