// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
)

const nas = types.UID("uid-nas")

// D-5, D-6.
func TestWhatAPolicyTakesOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		p    *kopiurv1.SnapshotPolicy
		row  *kopiurv1.Snapshot
		want bool
	}{
		"history from before it":                             {policy("apps"), row(stored(web, 100)), true},
		"what another client has stored since":               {policy("apps"), row(stored(web, 5)), true},
		"what a Snapshot stored before it":                   {policy("apps"), row(stored(web, 100, madeFor("x"))), true},
		"not what a Snapshot stored since: that was deleted": {policy("apps"), row(stored(web, 5, madeFor("x"))), false},
		"not what it took over before":                       {policy("apps", tookUntil(5)), row(stored(web, 5)), false},
		"nor what is older":                                  {policy("apps", tookUntil(5)), row(stored(web, 6)), false},
		"but what is newer":                                  {policy("apps", tookUntil(5)), row(stored(web, 4)), true},
		"not what lacks entries (K-4)":                       {policy("apps"), row(stored(web, 5, incomplete)), false},
		"not what is in another namespace":                   {policy("shop"), row(stored(web, 5)), false},
		"not what is going":                                  {policy("apps"), row(stored(web, 5), func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = &metav1.Time{Time: now} }), false},
		"not what is its own already":                        {policy("apps"), row(stored(web, 5), func(s *kopiurv1.Snapshot) { catalog.TakeOver(s, policy("apps")) }), false},
		"not what has no status yet":                         {policy("apps"), row(stored(web, 5), func(s *kopiurv1.Snapshot) { s.Status = kopiurv1.SnapshotStatus{} }), false},
		"not with a memory that nobody can read":             {policy("apps", func(p *kopiurv1.SnapshotPolicy) { p.Status.Adoption = through("soon") }), row(stored(web, 5)), false},
		"a memory of another path says nothing": {policy("apps", func(p *kopiurv1.SnapshotPolicy) {
			p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{Through: map[string]string{"uid-nas/else": "2030-01-01T00:00:00Z"}}
		}), row(stored(web, 5)), true},
		"nor does one of a repository's object that was gone": {policy("apps", func(p *kopiurv1.SnapshotPolicy) {
			p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{Through: map[string]string{"uid-old/pvc/data": "2030-01-01T00:00:00Z"}}
		}), row(stored(web, 5)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := catalog.Adopt(tc.p, nas, []kopiurv1.Snapshot{*tc.row}, nil, 100)
			assert.Equal(t, tc.want, len(a.Take) == 1)
		})
	}
}

// D-5, D-6: what retention would delete at once is not taken over where the policy keeps the data of what it deletes: it
// would be the row again that it was.
func TestWhatIsNotWorthTakingOver(t *testing.T) {
	t.Parallel()
	keeps := func(d kopiurv1.DeletionPolicy, latest int32) func(*kopiurv1.SnapshotPolicy) {
		return func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.DefaultDeletionPolicy, p.Spec.Retention = d, &kopiurv1.Retention{KeepLatest: &latest}
		}
	}
	history := []kopiurv1.Snapshot{*row(stored(web, 50)), *row(stored(web, 40)), *row(stored(web, 30))}
	its := func(hours int) kopiurv1.Snapshot {
		s := made(stored(web, hours))
		s.Name, s.Spec.PolicyRef = fmt.Sprint("made-", hours), &kopiurv1.PolicyRef{Name: "web"}
		return *s
	}
	taken := *row(stored(web, 20))
	catalog.TakeOver(&taken, policy("apps")) // its status follows
	pin := []kopiurv1.Snapshot{*row(stored(web, 50, pinned)), history[1], history[2]}
	for name, tc := range map[string]struct {
		p          *kopiurv1.SnapshotPolicy
		rows, own  []kopiurv1.Snapshot
		take, skip []string
	}{
		"where it is deleted with its data everything is, and pruned": {policy("apps", keeps("", 2)), history, nil, []string{"k50-web", "k40-web", "k30-web"}, nil},
		"so it is where the policy says so":                           {policy("apps", keeps(kopiurv1.DeletionDelete, 2)), history, nil, []string{"k50-web", "k40-web", "k30-web"}, nil},
		"what retention keeps is":                                     {policy("apps", keeps(kopiurv1.DeletionRetain, 2)), history, nil, []string{"k40-web", "k30-web"}, []string{"k50-web"}},
		"under Orphan as well":                                        {policy("apps", keeps(kopiurv1.DeletionOrphan, 1)), history, nil, []string{"k30-web"}, []string{"k50-web", "k40-web"}},
		"without retention everything is":                             {policy("apps", func(p *kopiurv1.SnapshotPolicy) { p.Spec.DefaultDeletionPolicy = kopiurv1.DeletionRetain }), history, nil, []string{"k50-web", "k40-web", "k30-web"}, nil},
		"its own backups count":                                       {policy("apps", keeps(kopiurv1.DeletionRetain, 2)), history, []kopiurv1.Snapshot{its(3), its(2)}, nil, []string{"k50-web", "k40-web", "k30-web"}},
		"so do those it is about to take over":                        {policy("apps", keeps(kopiurv1.DeletionRetain, 2)), history, []kopiurv1.Snapshot{taken}, []string{"k30-web"}, []string{"k50-web", "k40-web"}},
		"what is pinned is":                                           {policy("apps", keeps(kopiurv1.DeletionRetain, 1)), pin, nil, []string{"k50-web", "k30-web"}, []string{"k40-web"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := catalog.Adopt(tc.p, nas, tc.rows, tc.own, 100)
			ids := func(list []*kopiurv1.Snapshot) (out []string) {
				for _, s := range list {
					out = append(out, s.Status.Snapshot.KopiaSnapshotID)
				}
				return out
			}
			assert.Equal(t, tc.take, ids(a.Take))
			assert.Equal(t, tc.skip, ids(a.Skip))
			assert.Equal(t, catalog.FoundOf(&history[2]).Start.Format(time.RFC3339), a.Through[catalog.ThroughKey(nas, web.SourcePath)], "none is looked at twice")
		})
	}
}

func through(at string) *kopiurv1.PolicyAdoptionStatus {
	return &kopiurv1.PolicyAdoptionStatus{Through: map[string]string{catalog.ThroughKey(nas, web.SourcePath): at}}
}

func TestWhetherAPolicyTakesOver(t *testing.T) {
	t.Parallel()
	says := func(a kopiurv1.AdoptionPolicy) kopiurv1.RepositorySpec {
		return kopiurv1.RepositorySpec{Catalog: &kopiurv1.CatalogSpec{Adoption: a}}
	}
	asks := func(p *kopiurv1.SnapshotPolicy) { p.Spec.Adoption = kopiurv1.AdoptionAdopt }
	for name, tc := range map[string]struct {
		p    *kopiurv1.SnapshotPolicy
		repo kopiurv1.RepositorySpec
		want bool
	}{
		"without a word it does":          {policy("apps"), kopiurv1.RepositorySpec{}, true},
		"not where it says no":            {policy("apps", ignores), says(kopiurv1.AdoptionAdopt), false},
		"not where the repository does":   {policy("apps"), says(kopiurv1.AdoptionIgnore), false},
		"its own word is the last":        {policy("apps", asks), says(kopiurv1.AdoptionIgnore), true},
		"not where nothing can be pruned": {policy("apps"), kopiurv1.RepositorySpec{Mode: kopiurv1.ModeReadOnly}, false},
		"not while it is being deleted":   {policy("apps", func(p *kopiurv1.SnapshotPolicy) { p.DeletionTimestamp = &metav1.Time{Time: now} }), kopiurv1.RepositorySpec{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, catalog.Adopts(tc.p, tc.repo))
		})
	}
}

func TestTakingOver(t *testing.T) {
	t.Parallel()
	s := row(stored(web, 5, pinned))
	catalog.TakeOver(s, policy("apps"))
	assert.Equal(t, "web", s.Spec.PolicyRef.Name)
	assert.Equal(t, "web", s.Labels[kopiurv1.LabelConfig])
	assert.Equal(t, kopiurv1.OriginAdopted, s.Labels[kopiurv1.LabelOrigin])
	assert.Empty(t, s.OwnerReferences, "it outlives the repository's object, as those do that the policy made")
	assert.Equal(t, []string{kopiurv1.FinalizerSnapshot}, s.Finalizers)
	assert.True(t, s.Spec.Pin, "what somebody pinned stays pinned")
	assert.Empty(t, s.Spec.DeletionPolicy, "the policy's default decides")
	assert.True(t, catalog.Taken(s))
	assert.False(t, catalog.IsRow(s))
	again := s.DeepCopy()
	catalog.TakeOver(again, policy("apps"))
	assert.Equal(t, s, again, "twice is once")
}

func TestAPolicyTakesOverSomeAtATime(t *testing.T) {
	t.Parallel()
	p := policy("apps")
	var rows []kopiurv1.Snapshot
	for n := range 250 {
		e := stored(web, 0, func(e *work.CatalogEntry) {
			e.SnapshotID = fmt.Sprint(n)
			e.StartTime = now.Add(time.Duration(n)*time.Second/3 - 100*time.Hour) // three in each second
		})
		rows = append(rows, *row(e))
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	taken := map[string]bool{}
	for turn := 0; ; turn++ {
		require.Less(t, turn, 10)
		a := catalog.Adopt(p, nas, rows, nil, 100)
		for _, s := range a.Take {
			assert.False(t, taken[s.Name])
			taken[s.Name] = true
			catalog.TakeOver(s, p)
		}
		p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{Through: a.Through}
		if !a.More {
			break
		}
	}
	assert.Len(t, taken, 250, "none is left behind between two turns")
}

// D-6: whatever is taken over, pruned, deleted with its data kept, and found again, in whatever order: a snapshot is taken
// over once at the most, and the listing comes to rest.
func TestAdoptingIsNoCircle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		p := policy("apps")
		store := map[string]work.CatalogEntry{}
		objects := map[string]*kopiurv1.Snapshot{}
		takenOver := map[string]int{}
		made, hours := map[string]bool{}, 400
		for step := range 60 {
			switch rnd.IntN(5) {
			case 0, 1: // another client stores one, newer than all before
				hours--
				e := stored(web, hours)
				store[e.SnapshotID] = e
			case 2: // its own run stores one, and its object is deleted at once with the data kept
				e := stored(web, hours, madeFor(fmt.Sprint("uid", step)))
				e.StartTime = p.CreationTimestamp.Add(time.Duration(step) * time.Minute)
				e.SnapshotID, e.EndTime = fmt.Sprint("own", step), e.StartTime.Add(time.Second)
				store[e.SnapshotID], made[e.SnapshotID] = e, true
			case 3: // some objects go; the data of some of them does, too
				for name, s := range objects {
					if rnd.IntN(2) == 0 {
						delete(objects, name)
						if rnd.IntN(2) == 0 {
							delete(store, s.Status.Snapshot.KopiaSnapshotID)
						}
					}
				}
			case 4:
				look(t, p, store, objects, takenOver)
			}
		}
		look(t, p, store, objects, takenOver)
		before := len(objects)
		look(t, p, store, objects, takenOver)
		assert.Len(t, objects, before, "seed %d: it comes to rest", seed)
		for id, n := range takenOver {
			assert.Equal(t, 1, n, "seed %d: %s was taken over twice", seed, id)
			assert.False(t, made[id], "seed %d: %s had its own object", seed, id)
		}
	}
}

// look lists the store and lets the policy take over what it may.
func look(t *testing.T, p *kopiurv1.SnapshotPolicy, store map[string]work.CatalogEntry, objects map[string]*kopiurv1.Snapshot, takenOver map[string]int) {
	t.Helper()
	var entries []work.CatalogEntry
	for _, e := range store {
		entries = append(entries, e)
	}
	w := world(files(web, p))
	for _, s := range objects {
		w.Snapshots = append(w.Snapshots, s)
	}
	plan := catalog.Decide(listed(t, entries...), w)
	for _, d := range plan.Delete {
		delete(objects, d.Name)
	}
	for _, placed := range plan.Write {
		s := catalog.Row(w.Repository, placed.Entry, placed.Namespace, now)
		objects[s.Name] = s
	}
	var rows []kopiurv1.Snapshot
	for _, s := range objects {
		rows = append(rows, *s)
	}
	a := catalog.Adopt(p, nas, rows, nil, 1000)
	if p.Status.Adoption == nil {
		p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{Through: map[string]string{}}
	}
	for _, s := range a.Take {
		takenOver[s.Status.Snapshot.KopiaSnapshotID]++
		one := objects[s.Name]
		catalog.TakeOver(one, p)
		one.Status.Phase, one.Status.Origin = kopiurv1.SnapshotSucceeded, kopiurv1.OriginAdopted
	}
	for k, at := range a.Through {
		p.Status.Adoption.Through[k] = max(p.Status.Adoption.Through[k], at)
	}
}

func TestWhenAPolicyWantsAListing(t *testing.T) {
	t.Parallel()
	refreshed := func(ago time.Duration, change ...func(*kopiurv1.CatalogStatus)) *kopiurv1.CatalogStatus {
		s := &kopiurv1.CatalogStatus{LastRefreshAt: now.Add(-ago).Format(time.RFC3339), Coverage: kopiurv1.CatalogComplete}
		for _, c := range change {
			c(s)
		}
		return s
	}
	capped := func(s *kopiurv1.CatalogStatus) { s.Coverage = kopiurv1.CatalogCapped }
	others := func(s *kopiurv1.CatalogStatus) { s.ForeignSnapshotCount = 3 }
	fresh := func(p *kopiurv1.SnapshotPolicy) { p.CreationTimestamp = metav1.NewTime(now) }
	asked := func(p *kopiurv1.SnapshotPolicy) {
		p.Status.Adoption = &kopiurv1.PolicyAdoptionStatus{ScanRequestedIdentity: web.String()}
	}
	for name, tc := range map[string]struct {
		p    *kopiurv1.SnapshotPolicy
		s    *kopiurv1.CatalogStatus
		a    catalog.Adoption
		want bool
	}{
		"not before the first one":                  {policy("apps", fresh), nil, catalog.Adoption{}, false},
		"not where the last one is young and whole": {policy("apps", fresh), refreshed(time.Minute), catalog.Adoption{}, false},
		"where it is old":                           {policy("apps", fresh), refreshed(2 * time.Hour), catalog.Adoption{}, true},
		"where not everything has a row":            {policy("apps", fresh), refreshed(time.Minute, capped), catalog.Adoption{}, true},
		"where some of it may be another cluster's": {policy("apps", fresh), refreshed(time.Minute, others), catalog.Adoption{}, true},
		"not where it has only grown old since":     {policy("apps", func(p *kopiurv1.SnapshotPolicy) { p.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour)) }), refreshed(2 * time.Hour), catalog.Adoption{}, false},
		"not where it was known then":               {policy("apps"), refreshed(time.Minute, capped), catalog.Adoption{}, false},
		"but after an edit":                         {policy("apps", func(p *kopiurv1.SnapshotPolicy) { p.Generation = 2 }), refreshed(time.Minute, capped), catalog.Adoption{}, true},
		"once for an identity":                      {policy("apps", fresh, asked), refreshed(2 * time.Hour), catalog.Adoption{}, false},
		"not where it has a history":                {policy("apps", fresh), refreshed(2 * time.Hour), catalog.Adoption{Matched: 4}, false},
		"nor where it has made backups":             {policy("apps", fresh, func(p *kopiurv1.SnapshotPolicy) { p.Status.LastSuccessfulSnapshot = "x" }), refreshed(2 * time.Hour), catalog.Adoption{}, false},
		"where its history is in another namespace": {policy("apps"), refreshed(time.Minute), catalog.Adoption{Matched: 4, Elsewhere: 4}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, catalog.Wants(tc.p, kopiurv1.RepositorySpec{}, tc.s, web.String(), tc.a, now))
		})
	}
}

// D-7, I-4.
func TestTheNearestMisses(t *testing.T) {
	t.Parallel()
	at := func(user, host, path string) kopiurv1.Identity {
		return kopiurv1.Identity{Username: user, Hostname: host, SourcePath: path}
	}
	for name, tc := range map[string]struct {
		found map[kopiurv1.Identity]int64
		want  []string
	}{
		"another path is the nearest":                {map[kopiurv1.Identity]int64{at("web", "apps", "/data"): 419, at("www", "apps", "/pvc/data"): 3}, []string{"write sourcePathOverride: /data for the source", "write spec.identity.username: www"}},
		"another host, as after a cluster was named": {map[kopiurv1.Identity]int64{at("web", "apps.east", "/pvc/data"): 5}, []string{"write spec.identity.hostname: apps.east"}},
		"the last part of the path in its namespace": {map[kopiurv1.Identity]int64{at("www", "apps", "/data"): 5}, []string{"write spec.identity.username: www, and sourcePathOverride: /data for the source"}},
		"what has nothing in common is not named":    {map[kopiurv1.Identity]int64{at("root", "laptop", "/home"): 5}, nil},
		"nor is its own":                             {map[kopiurv1.Identity]int64{web: 5}, nil},
		"three at the most, the largest first": {map[kopiurv1.Identity]int64{
			at("web", "apps", "/a"): 1, at("web", "apps", "/b"): 9, at("web", "apps", "/c"): 5, at("web", "apps", "/d"): 7,
		}, []string{"write sourcePathOverride: /b for the source", "write sourcePathOverride: /d for the source", "write sourcePathOverride: /c for the source"}},
		"in an empty repository there is none": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range catalog.Nearest([]kopiurv1.Identity{web}, tc.found) {
				got = append(got, m.Advice)
			}
			assert.Equal(t, tc.want, got)
		})
	}
	text := catalog.Explain(catalog.Nearest([]kopiurv1.Identity{web}, map[kopiurv1.Identity]int64{at("web", "apps", "/data"): 419}))
	assert.Equal(t, "419 snapshots are filed as web@apps:/data and this policy files its own as web@apps:/pvc/data: to take them over, write sourcePathOverride: /data for the source", text)
}
