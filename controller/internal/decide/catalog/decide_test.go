// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
)

// H-1.
func TestWhatBecomesOfAStoredSnapshot(t *testing.T) {
	t.Parallel()
	host := func(name string) kopiurv1.Identity {
		return kopiurv1.Identity{Username: "root", Hostname: name, SourcePath: "/data"}
	}
	one := stored(web, 5)
	running := made(one)
	running.Status.Phase, running.Status.Snapshot = kopiurv1.SnapshotRunning, nil
	repinned := made(one)
	repinned.Status.Snapshot.KopiaSnapshotID = "before-the-pin"
	adopted := row(one)
	catalog.TakeOver(adopted, policy("apps"))
	foreign := spec(kopiurv1.CatalogSpec{ForeignSnapshots: kopiurv1.ForeignFallback, FallbackNamespace: "shop"})
	for name, tc := range map[string]struct {
		entry work.CatalogEntry
		w     catalog.World
		// in which namespace the row is, "" for none
		want                          string
		discovered, foreign, unplaced int64
		coverage                      kopiurv1.CatalogCoverage
	}{
		"a Repository shows it beside itself":                     {one, world(), "apps", 1, 0, 0, "Complete"},
		"whoever made it":                                         {stored(host("laptop.example.org"), 5), world(), "apps", 1, 0, 0, "Complete"},
		"one of a Snapshot is known by its id":                    {one, world(snapshots(made(one))), "", 0, 0, 0, "Complete"},
		"by identity and start where a pin has changed the id":    {one, world(snapshots(repinned)), "", 0, 0, 0, "Complete"},
		"by its request while the run is not recorded":            {stored(web, 5, madeFor("uid-made")), world(snapshots(running)), "", 0, 0, 0, "Complete"},
		"one that a policy is about to take over is known":        {one, world(snapshots(adopted)), "", 0, 0, 0, "Complete"},
		"that of a policy goes where the policy is":               {one, world(files(web, policy("shop"))), "shop", 1, 0, 0, "Complete"},
		"but not into a namespace that may not use it":            {one, world(files(web, policy("lost"))), "apps", 1, 0, 0, "Complete"},
		"a ClusterRepository shows it in the host's namespace":    {stored(host("shop"), 5), world(clusterWide), "shop", 1, 0, 0, "Complete"},
		"of which it knows the cluster":                           {stored(host("shop.east"), 5), world(clusterWide, named("east")), "shop", 1, 0, 0, "Complete"},
		"not in one that may not use it":                          {stored(host("lost"), 5), world(clusterWide), "", 1, 0, 1, "Capped"},
		"nor in one that is not there":                            {stored(host("gone"), 5), world(clusterWide), "", 1, 0, 1, "Capped"},
		"but in the fallback, whoever may use the repository":     {stored(host("gone"), 5), world(clusterWide, spec(kopiurv1.CatalogSpec{FallbackNamespace: "lost"})), "lost", 1, 0, 0, "Complete"},
		"if that is there":                                        {stored(host("gone"), 5), world(clusterWide, spec(kopiurv1.CatalogSpec{FallbackNamespace: "nowhere"})), "", 1, 0, 1, "Capped"},
		"that of another cluster is a number":                     {stored(host("shop.west"), 5), world(named("east")), "", 0, 1, 0, "Complete"},
		"also where the namespaces are called alike":              {stored(host("shop.west"), 5), world(clusterWide, named("east")), "", 0, 1, 0, "Complete"},
		"or a row, where the repository says so":                  {stored(host("shop.west"), 5), world(clusterWide, named("east"), foreign), "shop", 0, 1, 0, "Complete"},
		"without a name nobody is another cluster":                {stored(host("shop.west"), 5), world(), "apps", 1, 0, 0, "Complete"},
		"a policy that says so has another host's":                {stored(host("nas.example.org"), 5), world(named("east"), files(host("nas.example.org"), policy("apps"))), "apps", 1, 0, 0, "Complete"},
		"rows are bounded to none":                                {one, world(retain(0, 0)), "", 1, 0, 0, "Capped"},
		"and by their age":                                        {stored(web, 49), world(retain(-1, 2)), "", 1, 0, 0, "Capped"},
		"which a young one does not reach":                        {stored(web, 47), world(retain(-1, 2)), "apps", 1, 0, 0, "Complete"},
		"bounds are not for what a policy takes over":             {stored(web, 4900), world(retain(0, 1), files(web, policy("apps"))), "apps", 1, 0, 0, "Complete"},
		"but for what a policy leaves alone":                      {one, world(retain(0, 0), files(web, policy("apps", ignores))), "", 1, 0, 0, "Capped"},
		"and for what it has had before":                          {one, world(retain(0, 0), files(web, policy("apps", tookUntil(5)))), "", 1, 0, 0, "Capped"},
		"an incomplete one has a row, which is never taken over":  {stored(web, 5, incomplete), world(files(web, policy("apps"))), "apps", 1, 0, 0, "Complete"},
		"one that a pin has renamed is the same row":              {stored(web, 5, pinned), world(), "apps", 1, 0, 0, "Complete"},
		"what is there twice in a second is there twice: no loss": {stored(web, 5, func(e *work.CatalogEntry) { e.StartTime = e.StartTime.Add(300 * time.Millisecond) }), world(snapshots(row(one))), "apps", 1, 0, 0, "Complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := catalog.Decide(listed(t, tc.entry), tc.w)
			var at []string
			for _, r := range p.Write {
				at = append(at, r.Namespace)
			}
			if tc.want == "" {
				assert.Empty(t, at)
			} else {
				assert.Equal(t, []string{tc.want}, at)
			}
			assert.Equal(t, kopiurv1.CatalogStatus{
				DiscoveredBackupCount: tc.discovered, ForeignSnapshotCount: tc.foreign, UnplacedSnapshotCount: tc.unplaced, Coverage: tc.coverage,
			}, p.Status)
			assert.Equal(t, tc.unplaced > 0, p.Unplaced != "", "who has no place is named")
		})
	}
}

// J-3.
func TestWhichRowsGo(t *testing.T) {
	t.Parallel()
	a, b := stored(web, 9), stored(web, 5)
	elsewhere := row(a, func(s *kopiurv1.Snapshot) { s.Namespace = "shop" })
	half := row(a, func(s *kopiurv1.Snapshot) { s.Status = kopiurv1.SnapshotStatus{} })
	old := row(a, func(s *kopiurv1.Snapshot) { s.Status.Snapshot.KopiaSnapshotID = "before-the-pin" })
	taken := row(a)
	catalog.TakeOver(taken, policy("apps"))
	for name, tc := range map[string]struct {
		entries            []work.CatalogEntry
		w                  catalog.World
		wantWrite, wantOut int
	}{
		"what is listed stays":                                 {[]work.CatalogEntry{a, b}, world(snapshots(row(a), row(b))), 0, 0},
		"what is listed no more goes":                          {[]work.CatalogEntry{b}, world(snapshots(row(a), row(b))), 0, 1},
		"in an empty repository all go":                        {nil, world(snapshots(row(a), row(b))), 0, 2},
		"a row in another namespace is made anew here":         {[]work.CatalogEntry{a}, world(snapshots(elsewhere)), 1, 1},
		"one whose status was never written gets it":           {[]work.CatalogEntry{a}, world(snapshots(half)), 1, 0},
		"one whose id has changed gets it":                     {[]work.CatalogEntry{a}, world(snapshots(old)), 1, 0},
		"one that was pinned says so":                          {[]work.CatalogEntry{stored(web, 9, pinned)}, world(snapshots(row(a))), 1, 0},
		"one that a Snapshot of a policy stands for goes":      {[]work.CatalogEntry{a}, world(snapshots(row(a), made(a))), 0, 1},
		"one beyond the bounds goes":                           {[]work.CatalogEntry{a, b}, world(snapshots(row(a), row(b)), retain(1, 0)), 0, 1},
		"a Snapshot of a policy never goes":                    {nil, world(snapshots(made(a))), 0, 0},
		"nor does one that a policy has taken over":            {nil, world(snapshots(taken)), 0, 0},
		"an undecodable manifest may be any row's: none goes":  {nil, world(snapshots(row(a))), 0, 0},
		"but those go that are listed and beyond the bounds":   {[]work.CatalogEntry{a}, world(snapshots(row(a)), retain(0, 0)), 0, 1},
		"and with several movers' pages nothing is done twice": {[]work.CatalogEntry{a, b}, world(), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listed(t, tc.entries...)
			if name == "an undecodable manifest may be any row's: none goes" {
				l.End(work.CatalogResult{Pages: 0}, 1)
			}
			p := catalog.Decide(l, tc.w)
			assert.Len(t, p.Write, tc.wantWrite)
			assert.Len(t, p.Delete, tc.wantOut)
		})
	}
}

func TestTheNewestOfAnIdentityHaveRowsFirst(t *testing.T) {
	t.Parallel()
	other := kopiurv1.Identity{Username: "root", Hostname: "laptop", SourcePath: "/"}
	p := catalog.Decide(listed(t, stored(web, 9), stored(other, 8), stored(web, 7), stored(web, 5), stored(other, 4)), world(retain(2, 0)))
	var ids []string
	for _, r := range p.Write {
		ids = append(ids, r.Entry.ID)
	}
	assert.Equal(t, []string{"k8-root", "k7-web", "k5-web", "k4-root"}, ids, "and they are made in the order of their age")
	assert.Equal(t, int64(5), p.Status.DiscoveredBackupCount)
	assert.Equal(t, kopiurv1.CatalogCapped, p.Status.Coverage)
}

func TestARow(t *testing.T) {
	t.Parallel()
	e := stored(web, 5, madeFor("uid-1"))
	s := row(e)
	assert.True(t, catalog.IsRow(s))
	assert.Empty(t, s.Spec, "a row asks for nothing")
	assert.Empty(t, s.Finalizers, "and holds nobody up")
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: kopiurv1.GroupVersion.String(), Kind: "Repository", Name: "nas", UID: "uid-nas"}}, s.OwnerReferences)
	assert.Equal(t, kopiurv1.SnapshotDiscovered, s.Status.Phase)
	assert.Equal(t, web, s.Status.Snapshot.Identity)
	assert.Equal(t, "uid-1", s.Annotations[kopiurv1.AnnotationFoundRequest])
	assert.Equal(t, "nas-disc-db32207244914eb6", s.Name, "the name is on the wire: Restores in Git have it")

	repo := world().Repository
	assert.Nil(t, s.Status.Recorded)
	meta := func(tag string) *kopiurv1.Snapshot {
		found := listed(t, stored(web, 5, func(e *work.CatalogEntry) { e.Tags = map[string]string{work.TagMeta: tag} }))
		return catalog.Row(repo, catalog.Decide(found, world()).Write[0].Entry, "apps", now)
	}
	known := meta(`{"schema":1,"uid":1000,"gid":1000,"fsGroup":2000,"src":"explicit"}`)
	assert.Equal(t, &kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(1000)), GID: new(int64(1000)), FSGroup: new(int64(2000))}, known.Status.Recorded)
	assert.True(t, catalog.Stale(s, known), "a row of before is told who it was")
	assert.False(t, catalog.Stale(known, known))
	for why, tag := range map[string]string{"of a later Kopiur": `{"schema":2,"uid":0}`, "no JSON": "1000", "without end": `{"schema":1,"src":"` + strings.Repeat("x", 2000) + `"}`} {
		assert.Nil(t, meta(tag).Status.Recorded, why)
	}
	renamed := stored(web, 5, pinned)
	renamed.SnapshotID = "after-the-pin"
	assert.Equal(t, s.Name, row(renamed).Name, "a pin changes the id and nothing else")
	assert.NotEqual(t, s.Name, row(stored(web, 6)).Name)
	far := catalog.Row(repo, catalog.Entry{Identity: &web, Start: now}, "shop", now)
	assert.Empty(t, far.OwnerReferences, "an owner in another namespace would be taken for gone")
}

// J-3.
func TestNothingIsLostBetweenMovers(t *testing.T) {
	t.Parallel()
	page := func(n int, cursor string, e ...work.CatalogEntry) work.Page {
		return work.Page{Number: n, Cursor: work.Cursor(cursor), Snapshots: e}
	}
	l := catalog.NewListing(3, "token")
	l.Begin()
	require.True(t, l.Take(page(1, "c9", stored(web, 9))))
	require.True(t, l.Take(page(2, "c7", stored(web, 8), stored(web, 7))))
	assert.False(t, l.Take(page(4, "c5", stored(web, 5))), "a page is missing: what follows is worth nothing")
	assert.True(t, l.End(work.CatalogResult{Pages: 4, Next: "c5"}, 0))
	assert.Equal(t, work.Cursor("c7"), l.After(), "the next mover goes on behind the last page that came")
	assert.False(t, l.Complete())

	l.Begin()
	require.True(t, l.Take(page(1, "c5", stored(web, 7, pinned), stored(web, 6), stored(web, 5))))
	assert.True(t, l.End(work.CatalogResult{Pages: 1, Next: "c5"}, 0))
	l.Begin()
	assert.False(t, l.End(work.CatalogResult{Pages: 1, Next: "c5"}, 0), "nothing came: no progress")
	l.Begin()
	assert.False(t, l.End(work.CatalogResult{Next: "c5"}, 0), "nor with a mover that went nowhere")
	l.Begin()
	require.True(t, l.Take(page(1, "c4", stored(web, 5), stored(web, 4))))
	assert.True(t, l.End(work.CatalogResult{Pages: 1}, 0))
	assert.True(t, l.Complete())
	assert.Equal(t, 6, l.Len(), "what two movers name is there once")
	p := catalog.Decide(l, world())
	assert.Len(t, p.Write, 6)
	assert.True(t, p.Write[2].Entry.Pinned, "as the later one said")
}

func TestWhenARepositoryIsListed(t *testing.T) {
	t.Parallel()
	done := func(ago time.Duration) *kopiurv1.CatalogStatus {
		return &kopiurv1.CatalogStatus{LastRefreshAt: now.Add(-ago).Format(time.RFC3339), Generation: 1, ScanRequestHonored: "monday"}
	}
	periodic := &kopiurv1.CatalogSpec{PeriodicRefresh: true, RefreshInterval: "10m"}
	for name, tc := range map[string]struct {
		ask     catalog.Ask
		wantDue bool
		wantIn  time.Duration
	}{
		"at first":                                        {catalog.Ask{Generation: 1}, true, 0},
		"then no more":                                    {catalog.Ask{Generation: 1, Status: done(99 * time.Hour)}, false, 0},
		"after a change of the spec":                      {catalog.Ask{Generation: 2, Status: done(time.Second)}, true, 0},
		"when somebody asks":                              {catalog.Ask{Generation: 1, Status: done(time.Second), Token: "tuesday"}, true, 0},
		"once for each value":                             {catalog.Ask{Generation: 1, Status: done(time.Second), Token: "monday"}, false, 0},
		"from time to time, where that is wanted":         {catalog.Ask{Generation: 1, Status: done(4 * time.Minute), Spec: periodic}, false, 6 * time.Minute},
		"when its time has come":                          {catalog.Ask{Generation: 1, Status: done(10 * time.Minute), Spec: periodic}, true, 0},
		"every half minute at the most":                   {catalog.Ask{Generation: 1, Status: done(20 * time.Second), Spec: &kopiurv1.CatalogSpec{PeriodicRefresh: true, RefreshInterval: "1s"}}, false, 10 * time.Second},
		"when a policy asks":                              {catalog.Ask{Generation: 1, Status: done(time.Hour), PolicyAsked: now}, true, 0},
		"but not for each of many":                        {catalog.Ask{Generation: 1, Status: done(20 * time.Second), PolicyAsked: now}, false, 40 * time.Second},
		"an older wish is fulfilled":                      {catalog.Ask{Generation: 1, Status: done(time.Hour), PolicyAsked: now.Add(-2 * time.Hour)}, false, 0},
		"it goes on where it has begun":                   {catalog.Ask{Generation: 1, Status: done(time.Second), Begun: true}, true, 0},
		"after a rest where nothing came":                 {catalog.Ask{Generation: 1, Begun: true, NotBefore: now.Add(time.Minute)}, false, time.Minute},
		"not while the rows of the last one are made":     {catalog.Ask{Generation: 2, Token: "tuesday", Status: done(time.Hour), Busy: true}, false, 0},
		"a time that nobody can read counts as never":     {catalog.Ask{Generation: 1, Status: &kopiurv1.CatalogStatus{LastRefreshAt: "yesterday", Generation: 1}}, true, 0},
		"a listing that began without status is no other": {catalog.Ask{Generation: 1, Status: &kopiurv1.CatalogStatus{ScanRequestAttemptAt: "x"}}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, due := catalog.Due(tc.ask, now)
			assert.Equal(t, tc.wantDue, due)
			assert.Equal(t, tc.wantIn, in)
		})
	}
}
