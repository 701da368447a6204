// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kopiur/kopiur/apis/identity"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// IdentityCollision checks a policy against others that use the same repository, whose identityDefaults are d. Under one
// identity and path each would take the other's snapshots for its own, and its retention would delete them.
func IdentityCollision(p *kopiurv1.SnapshotPolicy, d *kopiurv1.IdentityDefaults, others []kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	at := field.NewPath("spec")
	rule, err := identity.Compile(d)
	if err != nil {
		return f // the repository is refused for itself
	}
	own, err := rule.Of(p, "")
	if err != nil {
		f.invalid(at.Child("identity"), "", "the repository makes no identity of this policy: %s; write spec.identity", err)
		return f
	}
	for i := range others {
		o := &others[i]
		if o.Namespace == p.Namespace && o.Name == p.Name || o.DeletionTimestamp != nil {
			continue
		}
		if other, err := rule.Of(o, ""); err != nil || other != own {
			continue
		}
		who := "SnapshotPolicy " + o.Namespace + "/" + o.Name
		taken := paths(o)
		selects := len(taken) < len(o.Spec.Sources)
		for j, s := range p.Spec.Sources {
			at := at.Child("sources").Index(j)
			switch path := s.Path(p.Namespace); {
			case path != "" && slices.Contains(taken, path):
				own.SourcePath = path
				f.forbidden(at, "%s files snapshots under the same %s in the same repository: write another spec.identity or sourcePathOverride", who, own)
			case selects && (path == "" || ofClaim(path)), path == "" && slices.ContainsFunc(taken, ofClaim):
				f.warn(at, "%s files snapshots under the same %s in the same repository: if both ever select the same claim, each takes the other's snapshots for its own; write another spec.identity", who, whoAt(own))
			}
			own.SourcePath = ""
		}
	}
	return f
}

// paths are those under which a policy files snapshots, without those of claims that a selector finds.
func paths(p *kopiurv1.SnapshotPolicy) []string {
	var out []string
	for _, s := range p.Spec.Sources {
		if path := s.Path(p.Namespace); path != "" {
			out = append(out, path)
		}
	}
	return out
}

// ofClaim reports whether a path may be that of a claim.
func ofClaim(path string) bool { return strings.HasPrefix(path, "/pvc/") }

// IdentityChange checks what an update of a policy that has snapshots does to their identity in one repository, whose
// identityDefaults are d: filed under another one, further snapshots begin a history of their own, and neither retention
// nor a restore finds the old ones. The annotation allow-identity-change says that this is meant.
func IdentityChange(updated, old *kopiurv1.SnapshotPolicy, d *kopiurv1.IdentityDefaults) Findings {
	var f Findings
	rule, err := identity.Compile(d)
	if err != nil || updated.Annotations[kopiurv1.AnnotationAllowIdentityChange] != "" {
		return f
	}
	was, err := rule.Of(old, "")
	if err != nil {
		return f // nothing can have been filed under it
	}
	const fix = "the policy has snapshots as %s, and nothing would find them under %s: undo the change, or annotate the policy with %s if it is meant"
	if is, err := rule.Of(updated, ""); err == nil && is != was {
		f.forbidden(field.NewPath("spec", "identity"), fix, whoAt(was), whoAt(is), kopiurv1.AnnotationAllowIdentityChange)
	}
	for i, s := range updated.Spec.Sources {
		before := samePlaceBefore(s, old)
		if before == nil {
			continue
		}
		from, to := pathOf(*before, old.Namespace), pathOf(s, updated.Namespace)
		if from != to {
			f.forbidden(field.NewPath("spec", "sources").Index(i), fix, from, to, kopiurv1.AnnotationAllowIdentityChange)
		}
	}
	return f
}

// pathOf is the path of a source, or how a selector makes it.
func pathOf(s kopiurv1.Source, namespace string) string {
	if s.PVCSelector == nil {
		return s.Path(namespace)
	}
	return s.ClaimPath(namespace, "*")
}

// samePlaceBefore finds the source that read the same data before; nil where it is new.
func samePlaceBefore(s kopiurv1.Source, old *kopiurv1.SnapshotPolicy) *kopiurv1.Source {
	for i := range old.Spec.Sources {
		o := &old.Spec.Sources[i]
		switch {
		case s.PVC != nil && o.PVC != nil && *s.PVC == *o.PVC,
			s.NFS != nil && o.NFS != nil && *s.NFS == *o.NFS,
			s.PVCSelector != nil && o.PVCSelector != nil && len(old.Spec.Sources) == 1,
			s.Stream != nil && o.Stream != nil:
			return o
		}
	}
	return nil
}
