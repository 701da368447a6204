// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// World is what a complete listing is held against.
type World struct {
	Repository moverjob.Repository
	// Snapshots are those that lie in the repository, or whose run may still store something. They belong to the cache.
	Snapshots []*kopiurv1.Snapshot
	// Policies file their snapshots under these identities.
	Policies map[kopiurv1.Identity]*kopiurv1.SnapshotPolicy
	// Namespace says whether one is there, and whether the repository may be used from it.
	Namespace func(name string) (exists, allowed bool)
	Now       time.Time
}

// Plan is what becomes of a listing.
type Plan struct {
	// Write are the rows to make, or to bring up to date, the oldest snapshot first.
	Write []Placed
	// Delete are rows that show nothing any more, or are in the wrong place.
	Delete []*kopiurv1.Snapshot
	// Status has the numbers.
	Status kopiurv1.CatalogStatus
	// Unplaced is an identity whose snapshots have no row because no namespace may have them.
	Unplaced string
}

// Placed is what a row shows, and where. The row itself is made when its turn comes: ten thousand at once would weigh more
// than all else that the process has.
type Placed struct {
	Entry     Entry
	Namespace string
}

// Decide says which rows there are to be. It is total, and about the same facts it decides the same.
func Decide(l *Listing, w World) Plan {
	d := decision{l: l, w: w, p: Plan{Status: kopiurv1.CatalogStatus{Coverage: kopiurv1.CatalogComplete}}}
	d.index()
	d.match()
	d.place()
	d.sweep()
	return d.p
}

type decision struct {
	l *Listing
	w World
	p Plan

	byID     map[string]*kopiurv1.Snapshot
	byUID    map[types.UID]bool
	bySecond map[second][]*kopiurv1.Snapshot
	rows     map[types.NamespacedName]*kopiurv1.Snapshot
	// known entries have a Snapshot of a policy; wanted rows are those that stay.
	known  []bool
	wanted map[types.NamespacedName]bool
}

// second is what a Snapshot's status says of what it stored.
type second struct {
	id    kopiurv1.Identity
	start string
}

func (d *decision) index() {
	d.byID, d.byUID = map[string]*kopiurv1.Snapshot{}, map[types.UID]bool{}
	d.bySecond, d.rows = map[second][]*kopiurv1.Snapshot{}, map[types.NamespacedName]*kopiurv1.Snapshot{}
	d.wanted = map[types.NamespacedName]bool{}
	for _, s := range d.w.Snapshots {
		if IsRow(s) {
			d.rows[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s
			continue
		}
		d.byUID[s.UID] = true
		if st := s.Status.Snapshot; st != nil {
			d.byID[st.KopiaSnapshotID] = s
		}
	}
}

// match finds the entries that a Snapshot of a policy stands for: by the id, then by identity and start where the id has
// changed, and by the request where its run has not recorded what it stored yet.
func (d *decision) match() {
	d.known = make([]bool, len(d.l.entries))
	met := map[*kopiurv1.Snapshot]bool{}
	for i, e := range d.l.entries {
		if s := d.byID[e.ID]; s != nil {
			d.known[i], met[s] = true, true
		}
	}
	for _, s := range d.byID {
		if t := s.Status.Timing; !met[s] && t != nil {
			k := second{s.Status.Snapshot.Identity, t.StartTime}
			d.bySecond[k] = append(d.bySecond[k], s)
		}
	}
	for i, e := range d.l.entries {
		if d.known[i] {
			continue
		}
		k := second{*e.Identity, stamp(e.Start)}
		switch left := d.bySecond[k]; {
		case len(left) > 0:
			d.known[i], d.bySecond[k] = true, left[1:]
		case e.Request != "" && d.byUID[types.UID(e.Request)]:
			d.known[i] = true
		}
	}
}

// place says where the row of each other entry goes. It goes from the newest to the oldest, because the newest of an
// identity have rows first.
func (d *decision) place() {
	perIdentity := map[*kopiurv1.Identity]int32{}
	retain := d.retain()
	capped := false
	for i, e := range slices.Backward(d.l.entries) {
		if d.known[i] {
			continue
		}
		policy := d.policy(*e.Identity)
		other := policy == nil && Foreign(e.Identity.Hostname, d.w.Repository.Spec.IdentityDefaults)
		if other {
			d.p.Status.ForeignSnapshotCount++
			if !d.fallback() {
				continue
			}
		} else {
			d.p.Status.DiscoveredBackupCount++
		}
		adoptable := policy != nil && Adopts(policy, d.w.Repository.Spec) && Eligible(policy, d.w.Repository.UID, Found{
			Path: e.Identity.SourcePath, Start: e.Start, End: e.End, Request: e.Request, Failed: e.Failed,
		})
		if !adoptable && !retain(e, perIdentity) {
			capped = true
			continue
		}
		namespace, ok := d.namespace(*e.Identity, policy, other)
		if !ok {
			d.p.Status.UnplacedSnapshotCount++
			d.p.Unplaced = e.Identity.String()
			capped = true
			continue
		}
		d.want(e, namespace)
	}
	slices.Reverse(d.p.Write)
	if capped {
		d.p.Status.Coverage = kopiurv1.CatalogCapped
	}
}

func (d *decision) want(e Entry, namespace string) {
	key := types.NamespacedName{Namespace: namespace, Name: Name(d.w.Repository.Ref, *e.Identity, e.Start)}
	d.wanted[key] = true
	if have := d.rows[key]; have == nil || Stale(have, Row(d.w.Repository, e, namespace, d.w.Now)) {
		d.p.Write = append(d.p.Write, Placed{e, namespace})
	}
}

// sweep finds the rows that are wanted no more. Where a manifest could not be decoded, a row that shows something the
// listing does not name may be of just that one.
func (d *decision) sweep() {
	var listed map[string]bool
	if d.l.unreadable > 0 {
		listed = map[string]bool{}
		for _, e := range d.l.entries {
			listed[Name(d.w.Repository.Ref, *e.Identity, e.Start)] = true
		}
	}
	for key, s := range d.rows {
		if !d.wanted[key] && (listed == nil || listed[key.Name]) {
			d.p.Delete = append(d.p.Delete, s)
		}
	}
	slices.SortFunc(d.p.Delete, func(a, b *kopiurv1.Snapshot) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}

// policy is the one that files its snapshots under an identity, nil where there is none that may.
func (d *decision) policy(id kopiurv1.Identity) *kopiurv1.SnapshotPolicy {
	p := d.w.Policies[id]
	if p == nil {
		return nil
	}
	if exists, allowed := d.w.Namespace(p.Namespace); !exists || !allowed {
		return nil
	}
	return p
}

// namespace is where a row goes.
func (d *decision) namespace(id kopiurv1.Identity, policy *kopiurv1.SnapshotPolicy, other bool) (string, bool) {
	repo := d.w.Repository
	if policy != nil {
		return policy.Namespace, true
	}
	if repo.Ref.Namespace != "" {
		return repo.Ref.Namespace, true
	}
	if !other {
		name := id.Hostname
		if c := repo.Spec.IdentityDefaults; c != nil && c.Cluster != "" {
			name = strings.TrimSuffix(name, "."+c.Cluster)
		}
		if exists, allowed := d.w.Namespace(name); exists && allowed {
			return name, true
		}
	}
	if c := repo.Spec.Catalog; c != nil && c.FallbackNamespace != "" {
		exists, _ := d.w.Namespace(c.FallbackNamespace)
		return c.FallbackNamespace, exists
	}
	return "", false
}

func (d *decision) fallback() bool {
	c := d.w.Repository.Spec.Catalog
	return c != nil && c.ForeignSnapshots == kopiurv1.ForeignFallback
}

// retain is spec.catalog.retain: it bounds the rows of what no policy takes over.
func (d *decision) retain() func(Entry, map[*kopiurv1.Identity]int32) bool {
	var r kopiurv1.CatalogRetain
	if c := d.w.Repository.Spec.Catalog; c != nil && c.Retain != nil {
		r = *c.Retain
	}
	return func(e Entry, count map[*kopiurv1.Identity]int32) bool {
		if r.MaxAgeDays != nil && e.Start.Before(d.w.Now.AddDate(0, 0, -int(*r.MaxAgeDays))) {
			return false
		}
		if r.PerIdentity == nil {
			return true
		}
		count[e.Identity]++
		return count[e.Identity] <= *r.PerIdentity
	}
}

// Foreign reports whether a hostname is that of another cluster. Kopiur's own are "namespace.cluster" where the
// repository names its cluster; without a name nothing can be told apart.
func Foreign(hostname string, own *kopiurv1.IdentityDefaults) bool {
	if own == nil || own.Cluster == "" {
		return false
	}
	dot := strings.LastIndexByte(hostname, '.')
	return dot >= 0 && hostname[dot+1:] != own.Cluster
}
