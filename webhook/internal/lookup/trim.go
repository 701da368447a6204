// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// applied is what kubectl keeps of a whole manifest.
const applied = "kubectl.kubernetes.io/last-applied-configuration"

// trim drops what no check reads of any object's metadata.
func trim(m metav1.Object) {
	m.SetManagedFields(nil)
	m.SetOwnerReferences(nil)
	a := m.GetAnnotations()
	delete(a, applied)
	m.SetAnnotations(a)
}

// trimMeta keeps names and labels.
func trimMeta(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		trim(m)
		m.SetAnnotations(nil)
		m.SetFinalizers(nil)
	}
	return o, nil
}

// trimPolicy keeps what a policy's identity and place follow from, and what says that it has a history.
func trimPolicy(o any) (any, error) {
	p, ok := o.(*kopiurv1.SnapshotPolicy)
	if !ok {
		return o, nil
	}
	trim(p)
	spec, status := p.Spec, p.Status
	p.Spec = kopiurv1.SnapshotPolicySpec{Repository: spec.Repository, Identity: spec.Identity, Sources: spec.Sources}
	p.Status = kopiurv1.SnapshotPolicyStatus{LastSuccessfulSnapshot: status.LastSuccessfulSnapshot, Resolved: status.Resolved}
	return p, nil
}

// trimRepository keeps where a repository is, whom it serves and how it names their snapshots.
func trimRepository(o any) (any, error) {
	switch r := o.(type) {
	case *kopiurv1.Repository:
		trim(r)
		trimSpec(&r.Spec)
		r.Status = kopiurv1.RepositoryStatus{UniqueID: r.Status.UniqueID}
	case *kopiurv1.ClusterRepository:
		trim(r)
		trimSpec(&r.Spec.RepositorySpec)
		r.Status = kopiurv1.RepositoryStatus{UniqueID: r.Status.UniqueID}
	}
	return o, nil
}

func trimSpec(s *kopiurv1.RepositorySpec) {
	s.MoverDefaults, s.Bootstrap = nil, nil
}

// repositoriesOf is the index of policies by repository.
func repositoriesOf(o client.Object) []string {
	p, ok := o.(*kopiurv1.SnapshotPolicy)
	if !ok || p.Spec.Repository.Name == "" {
		return nil
	}
	return []string{p.Spec.Repository.In(p.Namespace).String()}
}
