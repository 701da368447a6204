// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy says under which paths a SnapshotPolicy files its snapshots, and whether another policy files its own
// there too.
package policy

import (
	"slices"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Sources are the policy's sources with the paths their snapshots are filed under.
func Sources(p *kopiurv1.SnapshotPolicy) []kopiurv1.ResolvedSource {
	var out []kopiurv1.ResolvedSource
	for _, s := range p.Spec.Sources {
		r := kopiurv1.ResolvedSource{SourcePath: s.Path(p.Namespace)}
		if s.PVC != nil {
			r.PVC = p.Namespace + "/" + s.PVC.Name
		}
		if r.SourcePath != "" {
			out = append(out, r)
		}
	}
	return out
}

// Collision is another policy that files snapshots under the same identity and path of the same repository, and the path.
// The other's snapshots would then count as this policy's history, and be pruned by its retention.
type Collision struct {
	Policy string
	Path   string
}

// Collides looks for a collision with one of others. Of two that collide both are told, so that nobody has to guess which
// came first.
func Collides(p *kopiurv1.SnapshotPolicy, others []kopiurv1.SnapshotPolicy) *Collision {
	repos, id := p.RepositoryRefs(), p.IdentityOf("")
	paths := map[string]bool{}
	for _, s := range Sources(p) {
		paths[s.SourcePath] = true
	}
	for i := range others {
		o := &others[i]
		if (o.Namespace == p.Namespace && o.Name == p.Name) || o.DeletionTimestamp != nil ||
			!slices.ContainsFunc(o.RepositoryRefs(), func(r kopiurv1.RepositoryRef) bool { return slices.Contains(repos, r) }) ||
			o.IdentityOf("") != id {
			continue
		}
		for _, s := range Sources(o) {
			if paths[s.SourcePath] {
				return &Collision{Policy: o.Namespace + "/" + o.Name, Path: s.SourcePath}
			}
		}
	}
	return nil
}
