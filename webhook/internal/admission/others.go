// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// Lookups find other objects. An answer of nil says that there is none; an error, that it is not known.
type Lookups interface {
	Policy(ctx context.Context, namespace, name string) (*kopiurv1.SnapshotPolicy, error)
	Repository(ctx context.Context, namespace, name string) (*kopiurv1.Repository, error)
	ClusterRepository(ctx context.Context, name string) (*kopiurv1.ClusterRepository, error)
	NamespaceLabels(ctx context.Context, name string) (map[string]string, error)
	PoliciesOf(ctx context.Context, ref kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error)
	HasSnapshots(ctx context.Context, namespace, policy string) (bool, error)
}

// Others holds an object against the time and against other objects. What it cannot find out it does not refuse, but says.
type Others struct {
	lookups Lookups
	clock   clock.PassiveClock
}

// NewOthers makes an Others.
func NewOthers(lookups Lookups, c clock.PassiveClock) *Others {
	return &Others{lookups: lookups, clock: c}
}

// Check finds what is wrong with an object among the others; old is nil for a new one.
func (o *Others) Check(_ context.Context, object, _ client.Object) validation.Findings {
	var f validation.Findings
	switch object.(type) {
	case *kopiurv1.Repository, *kopiurv1.ClusterRepository:
		f.Merge(validation.MassDeletionAck(object.GetAnnotations(), o.clock.Now()))
	}
	return f
}
