// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// mostRepositories is to how many repositories one policy backs up.
const mostRepositories = 8

// SnapshotPolicy checks a SnapshotPolicy.
func SnapshotPolicy(p *kopiurv1.SnapshotPolicy) Findings {
	f := labelName(field.NewPath("metadata", "name"), p.Name)
	f.Merge(timestamp(p.Annotations, kopiurv1.AnnotationAcknowledgeEmptyStart, "write an RFC 3339 time, such as 2026-03-05T09:00:00Z"))
	at := field.NewPath("spec")
	s := &p.Spec
	f.Merge(policyRepositories(at, p))
	f.Merge(sources(at.Child("sources"), p))
	f.Merge(copying(at, s))
	f.Merge(policyIdentity(at.Child("identity"), s.Identity))
	f.Merge(retention(at.Child("retention"), s.Retention))
	f.Merge(storing(at, s))
	f.Merge(hooks(at.Child("hooks"), s.Hooks))
	f.Merge(verification(at.Child("verification"), s.Verification, p.Namespace+"/"+p.Name))
	if v := s.Verification; v != nil && v.Deep != nil && s.Mover != nil && s.Mover.InheritSecurityContextFrom != nil {
		f.warn(at.Child("verification", "deep"), "it does not take over the user of mover.inheritSecurityContextFrom: it restores as mover.securityContext says, "+
			"else as the mover's own user, who may not be able to give files to their owners")
	}
	f.Merge(preflight(at.Child("preflight"), s.Preflight, s.Sources))
	f.Merge(policyMover(at.Child("mover"), s))
	if refs := p.RepositoryRefs(); !slices.ContainsFunc(refs, func(r kopiurv1.RepositoryRef) bool { return r.Kind == kopiurv1.KindClusterRepository }) && len(refs) > 0 {
		f.Merge(projection(at.Child("credentialProjection"), s.CredentialProjection, refs[0]))
	}
	return f
}

// SnapshotPolicyUpdate checks what is new about a policy. Its identity is IdentityChange's.
func SnapshotPolicyUpdate(updated, old *kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	at := field.NewPath("spec")
	for _, was := range old.RepositoryRefs() {
		if !slices.Contains(updated.RepositoryRefs(), was) {
			f.warn(at, "%s takes no further snapshots of this policy; those that it has stay in it", was)
		}
	}
	return f
}

func policyRepositories(at *field.Path, p *kopiurv1.SnapshotPolicy) Findings {
	s := &p.Spec
	f := oneOf(at, variant{"repository", s.Repository != nil}, variant{"repositories", len(s.Repositories) > 0})
	if s.Repository != nil {
		f.Merge(repositoryRef(at.Child("repository"), *s.Repository))
	}
	at = at.Child("repositories")
	if len(s.Repositories) > mostRepositories {
		f.Errors = append(f.Errors, field.TooMany(at, len(s.Repositories), mostRepositories))
	}
	seen := map[kopiurv1.RepositoryRef]int{}
	for i, ref := range s.Repositories {
		f.Merge(repositoryRef(at.Index(i), ref))
		full := ref.In(p.Namespace)
		if first, twice := seen[full]; twice {
			f.forbidden(at.Index(i), "it is the same as %s: name each repository once", at.Index(first))
			continue
		}
		seen[full] = i
	}
	if h := s.Hooks; len(s.Repositories) > 0 && h != nil && len(h.BeforeSnapshot)+len(h.AfterSnapshot) > 0 {
		f.forbidden(at, "hooks would run once for each of them, at different times: write one policy per repository, or leave hooks out")
	}
	return f
}

// policyMover checks the mover of a policy. Its user may be that of the pod that mounts the claim, if there is a claim.
func policyMover(at *field.Path, s *kopiurv1.SnapshotPolicySpec) Findings {
	claims := slices.ContainsFunc(s.Sources, func(s kopiurv1.Source) bool { return s.PVC != nil || s.PVCSelector != nil })
	f := mover(at, s.Mover, inherit{consumer: claims})
	if s.Mover == nil || s.Mover.PodSecurityContext == nil {
		return f
	}
	pod := s.Mover.PodSecurityContext
	nfs := slices.ContainsFunc(s.Sources, func(s kopiurv1.Source) bool { return s.NFS != nil })
	if nfs && pod.FSGroup != nil && uidOf(s.Mover.SecurityContext, pod) == nil && s.Mover.InheritSecurityContextFrom == nil {
		f.warn(at.Child("podSecurityContext", "fsGroup"), "an NFS server goes by uid and groups, and the kubelet changes nothing there: write runAsUser, or the group into supplementalGroups")
	}
	return f
}

// MoverUser warns of movers that run as Kopiur's own user, because neither the policy nor the repository names another:
// they read only what everybody may. defaults are the repository's.
func MoverUser(p *kopiurv1.SnapshotPolicy, defaults *kopiurv1.MoverDefaults) Findings {
	var f Findings
	if m := p.Spec.Mover; m != nil {
		if uidOf(m.SecurityContext, m.PodSecurityContext) != nil || m.InheritSecurityContextFrom != nil ||
			m.PrivilegedMode != nil && *m.PrivilegedMode {
			return f
		}
	}
	if defaults != nil && uidOf(defaults.SecurityContext, defaults.PodSecurityContext) != nil {
		return f
	}
	if slices.ContainsFunc(p.Spec.Sources, func(s kopiurv1.Source) bool { return s.Stream == nil }) {
		f.warn(field.NewPath("spec", "mover"), "movers run as uid 65532, who may not read all files of an application: write inheritSecurityContextFrom, securityContext.runAsUser or privilegedMode, here or in the repository's moverDefaults")
	}
	return f
}
