// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// Lookups find other objects. An answer of nil says that there is none; an error, that it is not known. What they return
// is not theirs to keep and must not be changed.
type Lookups interface {
	Policy(ctx context.Context, namespace, name string) (*kopiurv1.SnapshotPolicy, error)
	Repository(ctx context.Context, namespace, name string) (*kopiurv1.Repository, error)
	ClusterRepository(ctx context.Context, name string) (*kopiurv1.ClusterRepository, error)
	NamespaceLabels(ctx context.Context, name string) (map[string]string, error)
	PoliciesOf(ctx context.Context, ref kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error)
	Maintenances(ctx context.Context) ([]kopiurv1.Maintenance, error)
	RepositoryReplications(ctx context.Context) ([]kopiurv1.RepositoryReplication, error)
	HasHistory(ctx context.Context, p *kopiurv1.SnapshotPolicy) (bool, error)
}

// Others holds objects against the time and against other objects. What it cannot find out it does not refuse, but says.
// An object that something refers to and that does not exist is no fault either: it may be applied next, and a condition
// says so until then.
type Others struct {
	lookups Lookups
	clock   clock.PassiveClock
}

// NewOthers makes an Others.
func NewOthers(lookups Lookups, c clock.PassiveClock) *Others {
	return &Others{lookups: lookups, clock: c}
}

// Object finds what is wrong with an object among the others.
func (o *Others) Object(ctx context.Context, object client.Object) validation.Findings {
	s := &search{Others: o, ctx: ctx}
	switch v := object.(type) {
	case *kopiurv1.Repository, *kopiurv1.ClusterRepository:
		s.found.Merge(validation.MassDeletionAck(v.GetAnnotations(), o.clock.Now()))
	case *kopiurv1.SnapshotPolicy:
		s.policy(v)
	case *kopiurv1.Snapshot:
		s.snapshot(v)
	case *kopiurv1.Restore:
		s.restore(v)
	case *kopiurv1.Maintenance:
		s.maintenance(v)
	case *kopiurv1.RepositoryReplication:
		s.repositoryReplication(v)
	case *kopiurv1.SnapshotReplication:
		s.snapshotReplication(v)
	}
	return s.found
}

// Update finds what a change does to others.
func (o *Others) Update(ctx context.Context, object, old client.Object) validation.Findings {
	s := &search{Others: o, ctx: ctx}
	switch v := object.(type) {
	case *kopiurv1.SnapshotPolicy:
		if before, ok := old.(*kopiurv1.SnapshotPolicy); ok {
			s.policyIdentity(v, before)
		}
	case *kopiurv1.Repository:
		if before, ok := old.(*kopiurv1.Repository); ok {
			ref := kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: v.Namespace, Name: v.Name}
			s.repositoryIdentity(ref, v.Spec.IdentityDefaults, before.Spec.IdentityDefaults, v.Annotations)
		}
	case *kopiurv1.ClusterRepository:
		if before, ok := old.(*kopiurv1.ClusterRepository); ok {
			ref := kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: v.Name}
			s.repositoryIdentity(ref, v.Spec.IdentityDefaults, before.Spec.IdentityDefaults, v.Annotations)
		}
	}
	return s.found
}

// search is one object's way through the others.
type search struct {
	*Others
	ctx   context.Context //nolint:containedctx // it lives as long as the request
	found validation.Findings
}

// unknown lets pass what could not be found out, and says so.
func (s *search) unknown(what string, err error) {
	logr.FromContextOrDiscard(s.ctx).Error(err, "Looking up other objects", "left", what)
	s.found.Warnings = append(s.found.Warnings, fmt.Sprintf("not checked: %s (%v)", what, err))
}

// repository is what a reference leads to, nil where it does not exist or is not known.
type repository struct {
	spec    *kopiurv1.RepositorySpec
	cluster *kopiurv1.ClusterRepository
}

// look finds a repository by a reference with its namespace filled in. ok is false where nothing can be said of it.
func (s *search) look(ref kopiurv1.RepositoryRef, what string) (r repository, ok bool) {
	if ref.Kind == kopiurv1.KindClusterRepository {
		cr, err := s.lookups.ClusterRepository(s.ctx, ref.Name)
		if err != nil {
			s.unknown(what, err)
			return repository{}, false
		}
		if cr != nil {
			return repository{spec: &cr.Spec.RepositorySpec, cluster: cr}, true
		}
		return repository{}, true
	}
	nr, err := s.lookups.Repository(s.ctx, ref.Namespace, ref.Name)
	if err != nil {
		s.unknown(what, err)
		return repository{}, false
	}
	if nr != nil {
		return repository{spec: &nr.Spec}, true
	}
	return repository{}, true
}

// allowed holds a namespace against a ClusterRepository. Its labels are read only where a selector asks for them.
func (s *search) allowed(at *field.Path, r repository, namespace string) {
	if r.cluster == nil {
		return
	}
	var labels map[string]string
	if r.cluster.Spec.AllowedNamespaces.Selector != nil {
		var err error
		if labels, err = s.lookups.NamespaceLabels(s.ctx, namespace); err != nil {
			s.unknown(fmt.Sprintf("whether ClusterRepository %s allows namespace %s", r.cluster.Name, namespace), err)
			return
		}
	}
	s.found.Merge(validation.NamespaceAllowed(at, r.cluster, namespace, labels))
}
