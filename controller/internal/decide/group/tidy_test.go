// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	ours := func(f ...func(*group.Group)) *group.Group {
		g := &group.Group{Name: "nightly", UID: "group", Ours: true, Maker: "maker", Content: "content"}
		for _, c := range f {
			c(g)
		}
		return g
	}
	unbound := func(g *group.Group) { g.Content = "" }
	making := group.Member{UID: "maker", Claims: []string{"data", "wal"}, Needs: true, Created: now.Add(-time.Minute)}
	done := making
	done.Needs = false
	waits, ended := group.Member{UID: "other", Needs: true}, group.Member{UID: "other"}
	claims := []string{"data", "wal"}
	for name, tc := range map[string]struct {
		in   group.Remains
		want group.Chores
	}{
		"nothing is left":                                   {group.Remains{}, group.Chores{}},
		"labels stay until the group is bound":              {group.Remains{Group: ours(unbound), Members: []group.Member{making, waits}, Labelled: claims}, group.Chores{}},
		"then they go, and the content will":                {group.Remains{Group: ours(), Members: []group.Member{making, waits}, Labelled: claims}, group.Chores{Unlabel: true, Release: true}},
		"a group stays while one Snapshot needs it":         {group.Remains{Group: ours(), Members: []group.Member{done, waits}}, group.Chores{Release: true}},
		"it goes after the last":                            {group.Remains{Group: ours(), Members: []group.Member{done, ended}}, group.Chores{Release: true, Delete: true}},
		"also where all of the run were deleted":            {group.Remains{Group: ours()}, group.Chores{Release: true, Delete: true}},
		"also half made, with its labels":                   {group.Remains{Group: ours(unbound), Labelled: claims}, group.Chores{Unlabel: true, Delete: true}},
		"Snapshots that are not created yet are waited for": {group.Remains{Group: ours(), Members: []group.Member{done}}, group.Chores{Release: true, Again: 9 * time.Minute}},
		"not for ever": {
			group.Remains{Group: ours(), Members: []group.Member{{UID: "maker", Claims: claims, Created: now.Add(-time.Hour)}}}, group.Chores{Release: true, Delete: true},
		},
		"an earlier run's group makes room":         {group.Remains{Group: ours(func(g *group.Group) { g.Maker = "earlier" }), Members: []group.Member{making, waits}}, group.Chores{Release: true, Delete: true}},
		"one on its way out is left alone":          {group.Remains{Group: ours(func(g *group.Group) { g.Deleting = true }), Members: []group.Member{done}}, group.Chores{}},
		"somebody else's is not touched":            {group.Remains{Group: ours(func(g *group.Group) { g.Ours = false })}, group.Chores{}},
		"labels without a group stay for the maker": {group.Remains{Members: []group.Member{making}, Labelled: claims}, group.Chores{}},
		"and go after it":                           {group.Remains{Members: []group.Member{done, waits}, Labelled: claims}, group.Chores{Unlabel: true}},
		"also where it was deleted":                 {group.Remains{Labelled: claims}, group.Chores{Unlabel: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, group.Tidy(tc.in, now))
		})
	}
}

func TestMemberOf(t *testing.T) {
	t.Parallel()
	of := func(f func(*kopiurv1.Snapshot)) *kopiurv1.Snapshot {
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kopiurv1.AnnotationGroupClaims: "a,b"}}}
		s.Spec.Source = &kopiurv1.SnapshotSource{Group: &kopiurv1.SnapshotGroup{Namespace: "apps", VolumeGroupSnapshotName: "nightly"}}
		f(s)
		return s
	}
	for name, tc := range map[string]struct {
		s     *kopiurv1.Snapshot
		needs bool
	}{
		"one that waits needs the group": {of(func(*kopiurv1.Snapshot) {}), true},
		"one that runs does":             {of(func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotRunning }), true},
		"one that has ended does not":    {of(func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotFailed }), false},
		"one whose copy is still there does": {of(func(s *kopiurv1.Snapshot) {
			s.Status.Phase, s.Status.Staged = kopiurv1.SnapshotSucceeded, &kopiurv1.Staged{}
		}), true},
		"one that is being deleted does not": {of(func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = &metav1.Time{} }), false},
	} {
		assert.Equal(t, tc.needs, group.MemberOf(tc.s).Needs, name)
	}
	s := of(func(*kopiurv1.Snapshot) {})
	assert.Equal(t, []string{"a", "b"}, group.Claims(s))
	assert.False(t, group.Waits(s))
	s.Annotations = nil
	assert.True(t, group.Waits(s))
	s.Spec.Source = nil
	assert.False(t, group.Waits(s), "a claim that is cut for itself waits for nobody")
	assert.Empty(t, group.Of(s))
}
