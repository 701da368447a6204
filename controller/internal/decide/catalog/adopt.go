// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Adopts reports whether a policy takes over what is found under its identity.
func Adopts(p *kopiurv1.SnapshotPolicy, repo kopiurv1.RepositorySpec) bool {
	if repo.Mode == kopiurv1.ModeReadOnly || p.DeletionTimestamp != nil {
		return false // nothing can be pruned there, nor by a policy that goes
	}
	wanted := p.Spec.Adoption
	if wanted == "" && repo.Catalog != nil {
		wanted = repo.Catalog.Adoption
	}
	return wanted != kopiurv1.AdoptionIgnore
}

// Found is what bears on whether one snapshot is taken over.
type Found struct {
	Path       string
	Start, End time.Time
	Request    string
	Failed     int64
}

// FoundOf reads it from a row.
func FoundOf(s *kopiurv1.Snapshot) Found {
	f := Found{Request: s.Annotations[kopiurv1.AnnotationFoundRequest]}
	if st := s.Status.Snapshot; st != nil {
		f.Path = st.Identity.SourcePath
	}
	if st := s.Status.Stats; st != nil {
		f.Failed = st.FilesFailed
	}
	if t := s.Status.Timing; t != nil {
		f.Start, _ = time.Parse(time.RFC3339, t.StartTime)
		f.End, _ = time.Parse(time.RFC3339, t.EndTime)
	}
	return f
}

// Eligible reports whether a policy may take over a snapshot of its identity. It may not where it had it before: what it
// took over once, and what was made for a Snapshot since the policy exists, had an object here, and whoever deleted that
// and kept the data wants it kept. Nor does it take over what lacks entries that could not be read: retention must not
// count it in the place of a whole one.
func Eligible(p *kopiurv1.SnapshotPolicy, repo types.UID, f Found) bool {
	if f.Failed > 0 {
		return false
	}
	if f.Request != "" && !f.End.Truncate(time.Second).Before(p.CreationTimestamp.Truncate(time.Second)) {
		return false
	}
	a := p.Status.Adoption
	if a == nil {
		return true
	}
	text, taken := a.Through[ThroughKey(repo, f.Path)]
	if !taken {
		return true
	}
	through, err := time.Parse(time.RFC3339, text)
	return err == nil && f.Start.Truncate(time.Second).After(through)
}

// ThroughKey is where a policy remembers how far it has taken over a path of a repository.
func ThroughKey(repo types.UID, path string) string { return string(repo) + path }

// Adoption is what a policy takes over from one repository.
type Adoption struct {
	// Take are the rows to take over, the oldest first; More says that there are others.
	Take []*kopiurv1.Snapshot
	More bool
	// Skip are those that stay rows: retention would delete their objects at once, and keep their data.
	Skip []*kopiurv1.Snapshot
	// Through are the times to remember once that is done.
	Through map[string]string
	// Matched counts rows of the policy's identity, Elsewhere those that are in another namespace and have to be made anew.
	Matched, Elsewhere int64
}

// Adopt picks from the rows that are filed under one of the policy's identities in a repository, no more than limit and
// what started in the same second as the last of them. own are the policy's Snapshots.
func Adopt(p *kopiurv1.SnapshotPolicy, repo types.UID, rows, own []kopiurv1.Snapshot, limit int) Adoption {
	a := Adoption{Through: map[string]string{}}
	var fit []*kopiurv1.Snapshot
	for i := range rows {
		s := &rows[i]
		if !IsRow(s) || s.DeletionTimestamp != nil || s.Status.Snapshot == nil {
			continue
		}
		a.Matched++
		f := FoundOf(s)
		if f.Start.IsZero() || !Eligible(p, repo, f) {
			continue
		}
		if s.Namespace != p.Namespace {
			a.Elsewhere++
			continue
		}
		fit = append(fit, s)
	}
	slices.SortFunc(fit, func(x, y *kopiurv1.Snapshot) int {
		return cmp.Or(strings.Compare(x.Status.Timing.StartTime, y.Status.Timing.StartTime), strings.Compare(x.Name, y.Name))
	})
	useless := uselessFor(p, fit, own)
	for i, s := range fit {
		if len(a.Take) >= limit && s.Status.Timing.StartTime != fit[i-1].Status.Timing.StartTime {
			a.More = true
			break
		}
		if useless[s] {
			a.Skip = append(a.Skip, s)
		} else {
			a.Take = append(a.Take, s)
		}
		key := ThroughKey(repo, s.Status.Snapshot.Identity.SourcePath)
		a.Through[key] = max(a.Through[key], s.Status.Timing.StartTime)
	}
	return a
}

// uselessFor are the rows that are not worth taking over: retention would delete the object at once, and as the policy
// keeps the data of what is deleted, all that came of it would be the row that was there before.
func uselessFor(p *kopiurv1.SnapshotPolicy, fit []*kopiurv1.Snapshot, own []kopiurv1.Snapshot) map[*kopiurv1.Snapshot]bool {
	if p.Spec.DefaultDeletionPolicy != kopiurv1.DeletionRetain && p.Spec.DefaultDeletionPolicy != kopiurv1.DeletionOrphan {
		return nil // what retention does not keep goes from the repository, which is what it is for
	}
	all := make([]kopiurv1.Snapshot, 0, len(own)+len(fit))
	for i := range own {
		all = append(all, adopted(&own[i], p))
	}
	rows := map[string]*kopiurv1.Snapshot{}
	for _, s := range fit {
		all = append(all, adopted(s, p))
		rows[s.Name] = s
	}
	out := map[*kopiurv1.Snapshot]bool{}
	for _, s := range retention.Doomed(retention.Of(p, all)) {
		if row := rows[s.Name]; row != nil {
			out[row] = true
		}
	}
	return out
}

// adopted is what a row is once it is taken over; any other Snapshot stays what it is.
func adopted(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) kopiurv1.Snapshot {
	if !IsRow(s) && !Taken(s) {
		return *s
	}
	out := *s.DeepCopy()
	TakeOver(&out, p)
	out.Status.Phase, out.Status.Origin = kopiurv1.SnapshotSucceeded, kopiurv1.OriginAdopted
	return out
}

// TakeOver makes a row one of the policy. Its status follows: whoever reconciles Snapshots sees the label.
func TakeOver(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) {
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[kopiurv1.LabelOrigin] = kopiurv1.OriginAdopted
	s.Labels[kopiurv1.LabelConfig] = kopiurv1.LabelValue(p.Name)
	s.Labels[kopiurv1.LabelPolicy] = kopiurv1.LabelValue(p.Name)
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: p.Name}
	// A row goes with its repository's object. One of a policy stays, as those do that the policy made.
	s.OwnerReferences = slices.DeleteFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == string(kopiurv1.KindRepository) || o.Kind == string(kopiurv1.KindClusterRepository)
	})
	if !slices.Contains(s.Finalizers, kopiurv1.FinalizerSnapshot) {
		s.Finalizers = append(s.Finalizers, kopiurv1.FinalizerSnapshot)
	}
	// Else the next thing to happen to one that somebody pinned would be that it is unpinned.
	s.Spec.Pin = s.Status.Pinned != nil && *s.Status.Pinned
}

// Taken reports whether a row was taken over, and its status does not say so yet.
func Taken(s *kopiurv1.Snapshot) bool {
	return s.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginAdopted && s.Status.Phase == kopiurv1.SnapshotDiscovered && s.Spec.PolicyRef != nil
}

// Wants reports whether a policy without history is to have the repository listed: what was listed may be old, or may
// have rows only for a part. It asks once for each identity.
func Wants(p *kopiurv1.SnapshotPolicy, repo kopiurv1.RepositorySpec, s *kopiurv1.CatalogStatus, identity string, a Adoption, now time.Time) bool {
	last, ok := refreshed(s)
	if !ok || identity == "" {
		return false
	}
	if had := p.Status.Adoption; had != nil && had.ScanRequestedIdentity == identity {
		return false
	}
	if a.Elsewhere > 0 {
		return true
	}
	if a.Matched > 0 || p.Status.LastSuccessfulSnapshot != "" {
		return false
	}
	if p.Generation == 1 && p.CreationTimestamp.Add(knownAfter).Before(last) {
		return false // the listing knew of it
	}
	partial := s.Coverage == kopiurv1.CatalogCapped || s.ForeignSnapshotCount > 0
	if p.Generation == 1 {
		now = p.CreationTimestamp.Time // what was stored since is not from before it
	}
	return partial || now.Sub(last) > Interval(repo.Catalog)
}

// AskAt is the time to write on such a wish: after the last listing, which may have ended in this very second.
func AskAt(s *kopiurv1.CatalogStatus, now time.Time) string {
	if last, ok := refreshed(s); ok && !now.Truncate(time.Second).After(last) {
		now = last.Add(time.Second)
	}
	return stamp(now)
}

// knownAfter is how long a listing may have been under way.
const knownAfter = 2 * time.Minute
