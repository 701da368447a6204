// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy decides whether a SnapshotPolicy can be carried out, under which identity its snapshots are filed, and
// whether another policy already files its own there.
package policy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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

// Validate lists what makes a policy impossible to carry out, each with the field and the fix. It repeats what admission
// refuses, because a policy may have been stored before the rule or without it.
func Validate(p *kopiurv1.SnapshotPolicy) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	direct := p.Spec.CopyMethod == kopiurv1.CopyDirect
	if p.SoleRepository() == nil {
		add("spec.repository is not set: name the repository that takes the snapshots")
	}
	if len(p.Spec.Sources) == 0 {
		add("spec.sources is empty: name at least one claim")
	}
	var roAccess bool
	if st := p.Spec.Staging; st != nil {
		if _, err := st.Timeout.Parse(0); err != nil {
			add("spec.staging.timeout: %s", err)
		}
		if direct && (st.StorageClassName != "" || len(st.AccessModes) > 0) {
			add("spec.staging has no meaning with copyMethod: Direct, which makes no copy: remove it, or use copyMethod: Snapshot or Clone")
		}
		roAccess = slices.Contains(st.AccessModes, corev1.ReadOnlyMany)
	}
	seen := map[string]int{}
	for i, s := range p.Spec.Sources {
		if s.PVC == nil || s.PVC.Name == "" {
			add("spec.sources[%d] names no claim: set pvc.name", i)
			continue
		}
		writable := !s.ReadOnlyOrDefault()
		if direct && writable && !s.AcknowledgeLiveMutation {
			add("spec.sources[%d].readOnly is false with copyMethod: Direct: the kubelet would change groups of the application's files. Remove it, use copyMethod: Snapshot or Clone, or set acknowledgeLiveMutation: true", i)
		}
		if writable && roAccess {
			add("spec.sources[%d].readOnly is false, but spec.staging.accessModes has ReadOnlyMany: remove one of them", i)
		}
		path := s.Path(p.Namespace)
		if !strings.HasPrefix(path, "/") {
			add("spec.sources[%d].sourcePathOverride %q is not absolute: begin it with /", i, path)
		}
		if j, dup := seen[path]; dup {
			add("spec.sources[%d] and spec.sources[%d] are both filed under %s: set sourcePathOverride of one of them", j, i, path)
		}
		seen[path] = i
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
