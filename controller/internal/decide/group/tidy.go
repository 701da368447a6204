// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// lateMembers is how long a group waits for Snapshots of its run that do not exist yet: the controller may be killed while
// it creates them.
const lateMembers = 10 * time.Minute

// Member is a Snapshot of a run.
type Member struct {
	UID types.UID
	// Needs: it has not ended, or its copy is still there.
	Needs bool
	// Claims are those that it is to cut, nil where it is not the maker.
	Claims  []string
	Created time.Time
}

// MemberOf is what matters of a Snapshot.
func MemberOf(s *kopiurv1.Snapshot) Member {
	return Member{
		UID: s.UID, Claims: Claims(s), Created: s.CreationTimestamp.Time,
		Needs: s.DeletionTimestamp == nil && (!s.Status.Phase.Terminal() || s.Status.Staged != nil),
	}
}

// Remains is what there is of one group.
type Remains struct {
	// Group is nil where there is none.
	Group   *Group
	Members []Member
	// Labelled are the claims that have its label.
	Labelled []string
}

// Chores are what is to be done about it now.
type Chores struct {
	// Unlabel the claims.
	Unlabel bool
	// Release the content, so that it goes with the group whatever its class says.
	Release bool
	// Delete the group.
	Delete bool
	// Again is when to look again; zero means that an event comes.
	Again time.Duration
}

// Tidy decides what to remove. A group that Kopiur has not made is never touched. now is by the clock that wrote the
// objects.
func Tidy(r Remains, now time.Time) Chores {
	var c Chores
	maker := slices.IndexFunc(r.Members, func(m Member) bool { return m.Claims != nil })
	making := maker >= 0 && r.Members[maker].Needs
	g := r.Group
	if g == nil || !g.Ours {
		c.Unlabel = len(r.Labelled) > 0 && !making
		return c
	}
	if g.Deleting {
		c.Unlabel = len(r.Labelled) > 0 && !making
		return c
	}
	c.Delete, c.Again = needless(r, maker, now)
	c.Unlabel = len(r.Labelled) > 0 && (g.Content != "" || c.Delete)
	c.Release = g.Content != ""
	return c
}

// needless reports whether no Snapshot needs the group, or will.
func needless(r Remains, maker int, now time.Time) (bool, time.Duration) {
	if maker >= 0 && r.Members[maker].UID != r.Group.Maker {
		return true, 0 // of an earlier run of the same name
	}
	if slices.ContainsFunc(r.Members, func(m Member) bool { return m.Needs }) {
		return false, 0
	}
	if maker < 0 {
		return true, 0
	}
	m := r.Members[maker]
	if left := lateMembers - now.Sub(m.Created); left > 0 && len(r.Members) < len(m.Claims) {
		return false, left
	}
	return true, 0
}
