// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy says under which identities a SnapshotPolicy files its snapshots, whether another policy files its own
// there too, and whether the ones it has made before lie under another identity.
package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/apis/expand"
	"github.com/kopiur/kopiur/apis/identity"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Sources are the policy's sources with the paths their snapshots are filed under: each claim that a selector finds is one.
// A policy of which no run can be made has those that it names itself.
func Sources(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) ([]kopiurv1.ResolvedSource, *expand.Refusal) {
	members, refusal := expand.Members(p, claims)
	if refusal != nil {
		named := p.DeepCopy()
		if refusal.Reason != kopiurv1.ReasonGroupSnapshotUnsupported {
			named.Spec.Sources = slices.DeleteFunc(named.Spec.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil })
		}
		named.Spec.GroupBy = kopiurv1.GroupByNone
		members, _ = expand.Members(named, claims)
	}
	var out []kopiurv1.ResolvedSource
	for _, m := range members {
		r := kopiurv1.ResolvedSource{SourcePath: m.Path}
		if m.Claim != "" {
			r.PVC = p.Namespace + "/" + m.Claim
		}
		if r.SourcePath != "" {
			out = append(out, r)
		}
	}
	return out, refusal
}

// Selected are the paths of the claims that the selectors of policies find, by the policies' namespace/name.
type Selected map[string][]string

// Selects reports whether a policy has a selector.
func Selects(p *kopiurv1.SnapshotPolicy) bool {
	return slices.ContainsFunc(p.Spec.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil })
}

// SelectedBy adds the paths of a policy, whose namespace has these claims.
func (s Selected) SelectedBy(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) {
	key := p.Namespace + "/" + p.Name
	for _, src := range p.Spec.Sources {
		for i := range claims {
			if c := &claims[i]; expand.Selects(src, c) {
				s[key] = append(s[key], src.ClaimPath(p.Namespace, c.Name))
			}
		}
	}
}

// Files are the identities under which a policy files its snapshots: those of its spec, and those of the claims that its
// selectors have led to.
func Files(p *kopiurv1.SnapshotPolicy, rule identity.Rule) []kopiurv1.Identity {
	id, err := rule.Of(p, "")
	if err != nil {
		return nil // a policy without an identity files nothing
	}
	var out []kopiurv1.Identity
	add := func(path string) {
		if id.SourcePath = path; path != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for i := range p.Spec.Sources {
		add(p.Spec.Sources[i].Path(p.Namespace))
	}
	if r := p.Status.Resolved; r != nil {
		for _, s := range r.Sources {
			add(s.SourcePath)
		}
	}
	return out
}

// Fault is why nothing may be filed. The zero value lets it pass.
type Fault struct {
	// Reason is IdentityUnresolved, IdentityCollision or IdentityChanged.
	Reason  string
	Message string
}

// Found reports whether there is a fault.
func (f Fault) Found() bool { return f.Reason != "" }

func fault(reason, format string, args ...any) Fault {
	return Fault{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Rule compiles a repository's identityDefaults.
func Rule(ref kopiurv1.RepositoryRef, d *kopiurv1.IdentityDefaults) (identity.Rule, Fault) {
	rule, err := identity.Compile(d)
	if err != nil {
		return rule, fault(kopiurv1.ReasonIdentityUnresolved, "%s makes no identities: spec.%s; its owner corrects it", ref, err)
	}
	return rule, Fault{}
}

// Identity is what a policy's snapshots of one path are filed under in a repository.
func Identity(p *kopiurv1.SnapshotPolicy, ref kopiurv1.RepositoryRef, rule identity.Rule, path string) (kopiurv1.Identity, Fault) {
	id, err := rule.Of(p, path)
	if err != nil {
		return id, fault(kopiurv1.ReasonIdentityUnresolved, "%s makes no identity of this policy: spec.%s; correct the policy's labels or annotations, or write its spec.identity", ref, err)
	}
	return id, Fault{}
}

// Collides looks for another policy that files snapshots under the same identity and path of the same repository: they
// would count as this policy's history, and be pruned by its retention. Of two that collide both are told, so that nobody
// has to guess which came first. paths are those of this policy that matter; selected what the selectors of others find.
func Collides(p *kopiurv1.SnapshotPolicy, ref kopiurv1.RepositoryRef, rule identity.Rule, own kopiurv1.Identity, paths []string, others []kopiurv1.SnapshotPolicy, selected Selected) Fault {
	for i := range others {
		o := &others[i]
		if o.Namespace == p.Namespace && o.Name == p.Name || o.DeletionTimestamp != nil || !slices.Contains(o.RepositoryRefs(), ref) {
			continue
		}
		// The cheap half first: thousands of policies may share a repository.
		path, same := samePath(o, paths, selected[o.Namespace+"/"+o.Name])
		if !same {
			continue
		}
		id, err := rule.Of(o, "")
		if err != nil || id.Username != own.Username || id.Hostname != own.Hostname {
			continue // a policy without an identity files nothing
		}
		id.SourcePath = path
		return fault(kopiurv1.ReasonIdentityCollision,
			"SnapshotPolicy %s/%s files snapshots in the same repository under the same identity %s: change spec.identity or sourcePathOverride of one of them",
			o.Namespace, o.Name, id)
	}
	return Fault{}
}

func samePath(o *kopiurv1.SnapshotPolicy, paths, selected []string) (string, bool) {
	for _, s := range o.Spec.Sources {
		if path := s.Path(o.Namespace); path != "" && slices.Contains(paths, path) {
			return path, true
		}
	}
	for _, path := range selected {
		if slices.Contains(paths, path) {
			return path, true
		}
	}
	return "", false
}

// History is what a policy has stored in one repository.
type History struct {
	// Latest identity of all, nil where nothing was stored.
	Latest *kopiurv1.Identity
	// Paths are the latest by claim, as namespace/name.
	Paths map[string]string
	// Count of snapshots that are there.
	Count int64
	// LastEnd is the newest end of a run.
	LastEnd string
}

// HistoryOf reads it from the policy's Snapshots, and where they are gone, from what the policy's status remembers.
func HistoryOf(p *kopiurv1.SnapshotPolicy, ref kopiurv1.RepositoryRef, snapshots []kopiurv1.Snapshot) History {
	h := History{Paths: map[string]string{}}
	ends := map[string]string{}
	for i := range snapshots {
		s := &snapshots[i]
		if s.Status.Phase != kopiurv1.SnapshotSucceeded || s.Status.Snapshot == nil || s.Status.Timing == nil || !in(s, ref) {
			continue
		}
		h.Count++
		// Times of one form are in the order of their texts.
		end := s.Status.Timing.EndTime
		if h.Latest == nil || end > h.LastEnd {
			h.Latest, h.LastEnd = &s.Status.Snapshot.Identity, end
		}
		if r := s.Status.Resolved; r != nil && len(r.Sources) == 1 && r.Sources[0].PVC != "" {
			if claim := r.Sources[0].PVC; ends[claim] == "" || end > ends[claim] {
				ends[claim], h.Paths[claim] = end, s.Status.Snapshot.Identity.SourcePath
			}
		}
	}
	if h.Latest == nil && p.Status.LastSuccessfulSnapshot != "" {
		h.Latest = Remembered(p, ref)
	}
	return h
}

// in reports whether a Snapshot lies in a repository. One that does not say is of the only one there was.
func in(s *kopiurv1.Snapshot, ref kopiurv1.RepositoryRef) bool {
	return s.Status.Resolved == nil || s.Status.Resolved.Repository == nil || s.Status.Resolved.Repository.In(s.Namespace) == ref
}

// Remembered is the identity that the policy's status has for a repository, nil where it has none.
func Remembered(p *kopiurv1.SnapshotPolicy, ref kopiurv1.RepositoryRef) *kopiurv1.Identity {
	r := p.Status.Resolved
	if r == nil {
		return nil
	}
	for i := range r.Repositories {
		if r.Repositories[i].Repository.In(p.Namespace) == ref {
			return r.Repositories[i].Identity
		}
	}
	if p.Status.RepositorySummary == ref.String() {
		return r.Identity
	}
	return nil
}

// Forked reports whether a policy would go on under another identity than the one its snapshots lie under: neither
// retention nor a restore would find them again. An edit of a label is enough for that, and no admission sees it where the
// webhook is down. allowed says that somebody wrote that it is meant.
func Forked(h History, id kopiurv1.Identity, claim string, allowed bool) Fault {
	if allowed || h.Latest == nil {
		return Fault{}
	}
	was := *h.Latest
	was.SourcePath = id.SourcePath
	if path, known := h.Paths[claim]; known {
		was.SourcePath = path
	}
	if was == id {
		return Fault{}
	}
	return fault(kopiurv1.ReasonIdentityChanged,
		"the policy has snapshots as %s, and nothing would find them under %s: undo the change of its labels, spec.identity or source, or of the repository's identityDefaults; annotate the policy with %s if it is meant",
		was, id, kopiurv1.AnnotationAllowIdentityChange)
}
