// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package held describes the deletions that a repository holds back, and finds the time that acknowledges them and none
// besides. It reads and writes nothing.
package held

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// prunes are deletions of Kopiur's own, which are never held.
var prunes = []string{
	kopiurv1.PrunedByRetention, kopiurv1.PrunedByFailedHistory, kopiurv1.PrunedByReplicationRetention, kopiurv1.PrunedByReplacedRun,
}

// Of lists the Snapshots whose deletion a repository holds, the first deleted first.
func Of(all []kopiurv1.Snapshot, relations find.Relations, ref kopiurv1.RepositoryRef) []*kopiurv1.Snapshot {
	var out []*kopiurv1.Snapshot
	for i := range all {
		s := &all[i]
		held := s.DeletionTimestamp != nil && meta.IsStatusConditionTrue(s.Status.Conditions, kopiurv1.ConditionDeletionHeld)
		if held && !slices.Contains(prunes, s.Annotations[kopiurv1.AnnotationPrunedBy]) && relations.In(s, ref) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *kopiurv1.Snapshot) int { return a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time) })
	return out
}

// Newest is when the last of them was deleted, by the API server's clock.
func Newest(held []*kopiurv1.Snapshot) time.Time {
	var out time.Time
	for _, s := range held {
		if s.DeletionTimestamp.After(out) {
			out = s.DeletionTimestamp.Time
		}
	}
	return out
}

// Group is what some have in common, and the dates of their data.
type Group struct {
	Name           string
	Count          int
	Oldest, Newest time.Time
}

// ByPolicy groups them by namespace and policy, the largest group first.
func ByPolicy(held []*kopiurv1.Snapshot) []Group {
	return group(held, func(s *kopiurv1.Snapshot) string {
		return s.Namespace + "/" + cmp.Or(find.PolicyOf(s), "(no policy)")
	})
}

// World is what is left of the objects that Snapshots depend on.
type World struct {
	Schedules map[types.UID]bool
	// Ending namespaces.
	Ending map[string]bool
}

// ByWhom groups them by what deleted them, as far as the objects tell. Kubernetes does not record on an object who
// deleted it.
func ByWhom(held []*kopiurv1.Snapshot, w World) []Group {
	return group(held, func(s *kopiurv1.Snapshot) string { return whom(s, w) })
}

func whom(s *kopiurv1.Snapshot, w World) string {
	policy := find.PolicyOf(s)
	if s.Annotations[kopiurv1.AnnotationPrunedBy] == kopiurv1.PrunedByPolicyCascade {
		return "the deletion of SnapshotPolicy " + s.Namespace + "/" + policy
	}
	if w.Ending[s.Namespace] {
		return "the deletion of namespace " + s.Namespace
	}
	for _, o := range s.OwnerReferences {
		if o.Kind == "SnapshotSchedule" && w.Schedules != nil && !w.Schedules[o.UID] {
			return "the deletion of SnapshotSchedule " + s.Namespace + "/" + o.Name
		}
	}
	return "somebody, or a program: the cluster's audit log has the name"
}

func group(held []*kopiurv1.Snapshot, name func(*kopiurv1.Snapshot) string) []Group {
	byName := map[string]*Group{}
	for _, s := range held {
		n := name(s)
		g := byName[n]
		if g == nil {
			g = &Group{Name: n}
			byName[n] = g
		}
		g.Count++
		at := s.CreationTimestamp.Time
		if s.Status.Timing != nil {
			if t := printer.Time(s.Status.Timing.StartTime); !t.IsZero() {
				at = t
			}
		}
		if g.Oldest.IsZero() || at.Before(g.Oldest) {
			g.Oldest = at
		}
		if at.After(g.Newest) {
			g.Newest = at
		}
	}
	var out []Group
	for _, g := range byName {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}
