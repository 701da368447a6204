// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

var spec = field.NewPath("spec")

// repositoryFields are a policy's repositories with the fields that name them.
func repositoryFields(p *kopiurv1.SnapshotPolicy) map[kopiurv1.RepositoryRef]*field.Path {
	out := map[kopiurv1.RepositoryRef]*field.Path{}
	if r := p.Spec.Repository; r != nil {
		out[r.In(p.Namespace)] = spec.Child("repository")
	}
	for i, r := range p.Spec.Repositories {
		out[r.In(p.Namespace)] = spec.Child("repositories").Index(i)
	}
	return out
}

// policy asks of each repository whether it allows the namespace, and who else files snapshots under the same identity.
func (s *search) policy(p *kopiurv1.SnapshotPolicy) {
	fields := repositoryFields(p)
	var defaults []*kopiurv1.MoverDefaults
	for _, ref := range p.RepositoryRefs() {
		r, ok := s.look(ref, "what "+ref.String()+" says of this policy")
		if !ok {
			continue
		}
		s.allowed(fields[ref], r, p.Namespace)
		var identity *kopiurv1.IdentityDefaults
		if r.spec != nil {
			identity = r.spec.IdentityDefaults
			defaults = append(defaults, r.spec.MoverDefaults)
			s.found.Merge(validation.Publication(p, *r.spec))
		}
		others, err := s.lookups.PoliciesOf(s.ctx, ref)
		if err != nil {
			s.unknown("whether another policy files snapshots under the same identity", err)
			continue
		}
		s.found.Merge(validation.IdentityCollision(p, identity, others))
	}
	for _, d := range defaults {
		s.found.Merge(validation.MoverUser(p, d))
	}
}

// policyIdentity looks for a history that a change of a policy's identity would leave behind.
func (s *search) policyIdentity(p, old *kopiurv1.SnapshotPolicy) {
	before := old.RepositoryRefs()
	for _, ref := range p.RepositoryRefs() {
		// In a repository that is new to the policy there is nothing to leave behind.
		if !slices.Contains(before, ref) {
			continue
		}
		r, ok := s.look(ref, "whether the policy's identity changes in "+ref.String())
		if !ok {
			continue
		}
		var identity *kopiurv1.IdentityDefaults
		if r.spec != nil {
			identity = r.spec.IdentityDefaults
		}
		changes := validation.IdentityChange(p, old, identity)
		if len(changes.Errors) > 0 {
			has, err := s.lookups.HasHistory(s.ctx, old)
			if err != nil {
				s.unknown("whether snapshots would be left behind under the old identity", err)
			}
			if !has {
				changes.Errors = nil
			}
		}
		s.found.Merge(changes)
	}
}

// repositoryIdentity looks for the histories that a change of a repository's identityDefaults would leave behind. Most
// changes leave none, which is seen without a question.
func (s *search) repositoryIdentity(ref kopiurv1.RepositoryRef, updated, old *kopiurv1.IdentityDefaults, annotations map[string]string) {
	policies, err := s.lookups.PoliciesOf(s.ctx, ref)
	if err != nil {
		// Without a change nothing needs to be known.
		if !sameDefaults(updated, old) {
			s.unknown("whether policies would leave snapshots behind under another identity", err)
		}
		return
	}
	if len(validation.RepositoryIdentityChange(updated, old, annotations, policies).Errors) == 0 {
		return
	}
	var withHistory []kopiurv1.SnapshotPolicy
	for i := range policies {
		has, err := s.lookups.HasHistory(s.ctx, &policies[i])
		if err != nil {
			s.unknown("whether SnapshotPolicy "+policies[i].Namespace+"/"+policies[i].Name+" would leave snapshots behind under another identity", err)
		}
		if has {
			withHistory = append(withHistory, policies[i])
		}
	}
	s.found.Merge(validation.RepositoryIdentityChange(updated, old, annotations, withHistory))
}

func sameDefaults(a, b *kopiurv1.IdentityDefaults) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// snapshot asks the policy which of its sources and repositories is meant.
func (s *search) snapshot(o *kopiurv1.Snapshot) {
	if pin := o.Spec.Repository; pin != nil {
		if r, ok := s.look(pin.In(o.Namespace), "what "+pin.In(o.Namespace).String()+" says of this Snapshot"); ok {
			s.allowed(spec.Child("repository"), r, o.Namespace)
		}
	}
	if o.Spec.PolicyRef == nil {
		return
	}
	ref := o.Spec.PolicyRef.In(o.Namespace)
	p, err := s.lookups.Policy(s.ctx, ref.Namespace, ref.Name)
	if err != nil {
		s.unknown("whether the Snapshot fits its policy", err)
		return
	}
	if p != nil {
		s.found.Merge(validation.SnapshotOfPolicy(o, p))
	}
}

// restore asks the policy that it reads from, and each repository whether it allows the namespace.
func (s *search) restore(o *kopiurv1.Restore) {
	at, refs := spec.Child("repository"), []kopiurv1.RepositoryRef{}
	if o.Spec.Repository != nil {
		refs = append(refs, o.Spec.Repository.In(o.Namespace))
	}
	if from := o.Spec.Source.FromPolicy; from != nil {
		namespace := from.Namespace
		if namespace == "" {
			namespace = o.Namespace
		}
		p, err := s.lookups.Policy(s.ctx, namespace, from.Name)
		switch {
		case err != nil:
			s.unknown("whether the Restore fits its policy", err)
		case p != nil:
			s.found.Merge(validation.RestoreOfPolicy(o, p))
			if sole := p.SoleRepository(); sole != nil && len(refs) == 0 {
				at, refs = spec.Child("source", "fromPolicy"), []kopiurv1.RepositoryRef{*sole}
			}
		}
	}
	for _, ref := range refs {
		if r, ok := s.look(ref, "what "+ref.String()+" says of this Restore"); ok {
			s.allowed(at, r, o.Namespace)
		}
	}
}

// maintenance looks for another of the same owner. AllowedNamespaces does not gate maintenance.
func (s *search) maintenance(o *kopiurv1.Maintenance) {
	others, err := s.lookups.Maintenances(s.ctx)
	if err != nil {
		s.unknown("whether another Maintenance of the repository has the same owner", err)
		return
	}
	s.found.Merge(validation.MaintenanceOwner(o, others))
}

// repositoryReplication compares the destination with the source, and with other destinations.
func (s *search) repositoryReplication(o *kopiurv1.RepositoryReplication) {
	if r, ok := s.look(o.Spec.SourceRef.In(o.Namespace), "whether the destination differs from the source"); ok && r.spec != nil {
		s.found.Merge(validation.RepositoryReplicationOf(o, *r.spec))
	}
	others, err := s.lookups.RepositoryReplications(s.ctx)
	if err != nil {
		s.unknown("whether another repository is copied to the same place", err)
		return
	}
	s.found.Merge(validation.RepositoryReplicationDestination(o, others))
}

// snapshotReplication compares its two repositories.
func (s *search) snapshotReplication(o *kopiurv1.SnapshotReplication) {
	const what = "whether the destination differs from the source"
	src, ok := s.look(o.Spec.SourceRef.In(o.Namespace), what)
	if !ok || src.spec == nil {
		return
	}
	if dst, ok := s.look(o.Spec.DestinationRef.In(o.Namespace), what); ok && dst.spec != nil {
		s.found.Merge(validation.SnapshotReplicationOf(o, *src.spec, *dst.spec))
	}
}
