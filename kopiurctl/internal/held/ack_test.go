// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package held_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/held"
)

func day(text string) time.Time {
	t, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 3, 5, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// The last of what was shown was deleted at 08:30, and it was listed at 08:40.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	const last, look = "2026-03-05T08:30:00Z", "2026-03-05T08:40:00Z"
	ack := func(value, effective string) *kopiurv1.DeletionAck {
		return &kopiurv1.DeletionAck{Value: value, EffectiveAt: effective}
	}
	for name, tc := range map[string]struct {
		current string
		seen    *kopiurv1.DeletionAck
		want    held.Ack
	}{
		"the last deletion that was shown is covered, and nothing after it":   {"", nil, held.Ack{Value: last}},
		"an acknowledgement of an earlier wave is replaced":                   {"2026-03-01T00:00:00Z", ack("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"), held.Ack{Value: last}},
		"one that the controller has not seen is not written again":           {last, nil, held.Ack{Covered: true}},
		"one of another value that it has not seen is made as narrow as ours": {"2026-03-05T08:35:00Z", nil, held.Ack{Value: last}},
		"one in effect that covers all is left alone":                         {"2026-03-05T08:35:00Z", ack("2026-03-05T08:35:00Z", "2026-03-05T08:35:00Z"), held.Ack{Covered: true}},
		"one that a clock that was behind has cut short gets another value":   {last, ack(last, "2026-03-05T08:29:00Z"), held.Ack{Value: look}},
		"one that was refused because it lay in the future is replaced":       {"2027-01-01T00:00:00Z", ack("2027-01-01T00:00:00Z", ""), held.Ack{Value: last}},
		"one that is no time is replaced":                                     {"yes", nil, held.Ack{Value: last}},
		"one in another time zone is the same time":                           {"2026-03-05T09:35:00+01:00", ack("2026-03-05T09:35:00+01:00", "2026-03-05T08:35:00Z"), held.Ack{Covered: true}},
		"what the status says of another value does not count":                {"2026-03-05T08:35:00Z", ack("2026-03-05T08:36:00Z", "2026-03-05T08:36:00Z"), held.Ack{Value: last}},
		"one that was taken back is written again, whatever the status says":  {"", ack(last, last), held.Ack{Value: last}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, held.Acknowledge(tc.current, tc.seen, day("08:30:00"), day("08:40:00")))
		})
	}
}

func deleted(name string, edit func(*kopiurv1.Snapshot)) kopiurv1.Snapshot {
	s := kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, DeletionTimestamp: &metav1.Time{Time: day("08:00:00")}, Annotations: map[string]string{},
	}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "data"}
	s.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	s.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionDeletionHeld, Status: metav1.ConditionTrue}}
	s.Status.Timing = &kopiurv1.Timing{StartTime: "2026-03-01T00:00:00Z"}
	if edit != nil {
		edit(&s)
	}
	return s
}

func TestOf(t *testing.T) {
	t.Parallel()
	all := []kopiurv1.Snapshot{
		deleted("later", func(s *kopiurv1.Snapshot) { s.DeletionTimestamp.Time = day("08:30:00") }),
		deleted("first", nil),
		deleted("of another repository", func(s *kopiurv1.Snapshot) { s.Spec.Repository.Name = "offsite" }),
		deleted("of another namespace's", func(s *kopiurv1.Snapshot) { s.Spec.Repository.Namespace = "web" }),
		deleted("let go", func(s *kopiurv1.Snapshot) { s.Status.Conditions[0].Status = metav1.ConditionFalse }),
		deleted("pruned by retention", func(s *kopiurv1.Snapshot) {
			s.Annotations[kopiurv1.AnnotationPrunedBy] = kopiurv1.PrunedByRetention
		}),
		deleted("not deleted", func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = nil }),
	}
	got := held.Of(all, nil, kopiurv1.RepositoryRef{Name: "nas"}.In("shop"))
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"first", "later"}, names)
	assert.Equal(t, day("08:30:00"), held.Newest(got))
}

// A Snapshot that never ran counts for each repository that its policy names, as it does for the controller.
func TestOfCountsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	policy := kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
	policy.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite", Kind: kopiurv1.KindClusterRepository}}
	all := []kopiurv1.Snapshot{deleted("x", func(s *kopiurv1.Snapshot) { s.Spec.Repository = nil })}
	relations := find.Relate([]kopiurv1.SnapshotPolicy{policy})
	for _, ref := range policy.RepositoryRefs() {
		assert.Len(t, held.Of(all, relations, ref), 1)
	}
	assert.Empty(t, held.Of(all, relations, kopiurv1.RepositoryRef{Name: "third"}.In("shop")))
}

func TestByWhom(t *testing.T) {
	t.Parallel()
	owned := func(uid string) func(*kopiurv1.Snapshot) {
		return func(s *kopiurv1.Snapshot) {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "SnapshotSchedule", Name: "nightly", UID: types.UID(uid)}}
		}
	}
	all := []kopiurv1.Snapshot{
		deleted("a", nil),
		deleted("b", owned("gone")), deleted("c", owned("gone")), deleted("d", owned("gone")),
		deleted("e", owned("there")),
		deleted("f", func(s *kopiurv1.Snapshot) {
			s.Annotations[kopiurv1.AnnotationPrunedBy] = kopiurv1.PrunedByPolicyCascade
		}),
		deleted("g", func(s *kopiurv1.Snapshot) { s.Namespace, s.Spec.Repository.Namespace = "old", "shop" }),
		deleted("h", func(s *kopiurv1.Snapshot) { s.Annotations[kopiurv1.AnnotationPrunedBy] = "magic" }),
	}
	got := map[string]int{}
	world := held.World{Schedules: map[types.UID]bool{"there": true}, Ending: map[string]bool{"old": true}}
	in := held.Of(all, nil, kopiurv1.RepositoryRef{Name: "nas"}.In("shop"))
	for _, g := range held.ByWhom(in, world) {
		got[g.Name] = g.Count
	}
	assert.Equal(t, map[string]int{
		"the deletion of SnapshotSchedule shop/nightly":                3,
		"the deletion of SnapshotPolicy shop/data":                     1,
		"the deletion of namespace old":                                1,
		"somebody, or a program: the cluster's audit log has the name": 3,
	}, got)
	world.Schedules = nil
	assert.Len(t, held.ByWhom(in, world), 3, "schedules that one may not see are not said to be gone")
}
