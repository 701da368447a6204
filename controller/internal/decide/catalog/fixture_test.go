// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)

// web is the identity of the policy of most tests.
var web = kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}

// stored is a snapshot of some hours ago.
func stored(id kopiurv1.Identity, hours int, change ...func(*work.CatalogEntry)) work.CatalogEntry {
	start := now.Add(-time.Duration(hours) * time.Hour)
	e := work.CatalogEntry{
		SnapshotID: fmt.Sprintf("k%d-%s", hours, id.Username), Identity: work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath},
		StartTime: start, EndTime: start.Add(time.Minute), SizeBytes: 10, FileCount: 2,
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func madeFor(uid string) func(*work.CatalogEntry) {
	return func(e *work.CatalogEntry) { e.Tags = map[string]string{work.TagRequest: uid} }
}

func incomplete(e *work.CatalogEntry) { e.FilesFailed = 3 }
func pinned(e *work.CatalogEntry)     { e.Pinned = true }

// listed is a complete listing of these, the oldest first.
func listed(t *testing.T, entries ...work.CatalogEntry) *catalog.Listing {
	t.Helper()
	l := catalog.NewListing(1, "")
	l.Begin()
	require.True(t, l.Take(work.Page{Number: 1, Cursor: "x", Snapshots: entries}))
	require.True(t, l.End(work.CatalogResult{Pages: 1, Entries: int64(len(entries))}, 0))
	return l
}

type setting func(*catalog.World)

// world is a Repository apps/nas, with nothing in the cluster.
func world(settings ...setting) catalog.World {
	w := catalog.World{
		Repository: moverjob.Repository{
			Ref: kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: "apps", Name: "nas"}, UID: "uid-nas", HomeNamespace: "apps",
		},
		Policies: map[kopiurv1.Identity]*kopiurv1.SnapshotPolicy{},
		Namespace: func(name string) (bool, bool) {
			return name == "apps" || name == "shop" || name == "lost", name != "lost"
		},
		Now: now,
	}
	for _, s := range settings {
		s(&w)
	}
	return w
}

func clusterWide(w *catalog.World) {
	w.Repository.Ref = kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "offsite"}
}

func named(cluster string) setting {
	return func(w *catalog.World) {
		w.Repository.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: cluster}
	}
}

func spec(c kopiurv1.CatalogSpec) setting {
	return func(w *catalog.World) { w.Repository.Spec.Catalog = &c }
}

func retain(perIdentity, maxAgeDays int32) setting {
	r := &kopiurv1.CatalogRetain{}
	if perIdentity >= 0 {
		r.PerIdentity = &perIdentity
	}
	if maxAgeDays > 0 {
		r.MaxAgeDays = &maxAgeDays
	}
	return spec(kopiurv1.CatalogSpec{Retain: r})
}

func snapshots(s ...*kopiurv1.Snapshot) setting {
	return func(w *catalog.World) { w.Snapshots = append(w.Snapshots, s...) }
}

func files(id kopiurv1.Identity, p *kopiurv1.SnapshotPolicy) setting {
	return func(w *catalog.World) { w.Policies[id] = p }
}

// policy is one that was made a day ago.
func policy(namespace string, change ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "web", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour)),
	}}
	for _, c := range change {
		c(p)
	}
	return p
}

func ignores(p *kopiurv1.SnapshotPolicy) { p.Spec.Adoption = kopiurv1.AdoptionIgnore }

// tookUntil has taken over what started until so many hours ago.
func tookUntil(hours int) func(*kopiurv1.SnapshotPolicy) {
	return func(p *kopiurv1.SnapshotPolicy) {
		p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{Through: map[string]string{
			catalog.ThroughKey("uid-nas", web.SourcePath): now.Add(-time.Duration(hours) * time.Hour).Format(time.RFC3339),
		}}
	}
}

// made is a Snapshot that a policy has made of an entry.
func made(e work.CatalogEntry) *kopiurv1.Snapshot {
	s := row(e)
	s.Name, s.UID, s.OwnerReferences = "made-"+e.SnapshotID, "uid-"+"made", nil
	s.Labels[kopiurv1.LabelOrigin], s.Status.Origin, s.Status.Phase = kopiurv1.OriginManual, kopiurv1.OriginManual, kopiurv1.SnapshotSucceeded
	return s
}

// row shows an entry beside the Repository.
func row(e work.CatalogEntry, change ...func(*kopiurv1.Snapshot)) *kopiurv1.Snapshot {
	id := kopiurv1.Identity{Username: e.Identity.Username, Hostname: e.Identity.Hostname, SourcePath: e.Identity.Path}
	s := catalog.Row(world().Repository, catalog.Entry{
		ID: e.SnapshotID, Identity: &id, Start: e.StartTime, End: e.EndTime, Size: e.SizeBytes, Files: e.FileCount,
		Failed: e.FilesFailed, Request: e.Tags[work.TagRequest], Pinned: e.Pinned,
	}, "apps", now)
	for _, c := range change {
		c(s)
	}
	return s
}
