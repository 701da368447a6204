// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{
		Namespace: "apps", Name: "data", Labels: map[string]string{"team": "shop"},
		Annotations:   map[string]string{applied: "{…}", "example.com/cluster": "home"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Finalizers: []string{"x"},
	}
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: *meta.DeepCopy()}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "shop"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	p.Spec.Hooks, p.Spec.Mover = &kopiurv1.Hooks{}, &kopiurv1.MoverSpec{}
	p.Status.LastSuccessfulSnapshot, p.Status.ObservedGeneration = "2026-03-05T09:00:00Z", 3
	got, err := trimPolicy(p.DeepCopy())
	require.NoError(t, err)
	want := p.DeepCopy()
	want.ManagedFields, want.Spec.Hooks, want.Spec.Mover, want.Status.ObservedGeneration = nil, nil, nil, 0
	delete(want.Annotations, applied)
	assert.Equal(t, want, got, "identities are made of labels and annotations, places of sources and repositories")

	r := &kopiurv1.Repository{ObjectMeta: *meta.DeepCopy()}
	r.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: "home"}
	got, err = trim(r.DeepCopy())
	require.NoError(t, err)
	assert.Equal(t, r.Spec, got.(*kopiurv1.Repository).Spec)
	assert.Nil(t, got.(*kopiurv1.Repository).ManagedFields)

	ns := namespaceMetadata()
	ns.ObjectMeta = *meta.DeepCopy()
	got, err = trimNamespace(ns)
	require.NoError(t, err)
	assert.Equal(t, metav1.ObjectMeta{Namespace: "apps", Name: "data", Labels: meta.Labels}, got.(*metav1.PartialObjectMetadata).ObjectMeta)
	// Some caches hand over a tombstone.
	for _, f := range []func(any) (any, error){trim, trimNamespace, trimPolicy} {
		got, err = f("something else")
		require.NoError(t, err)
		assert.Equal(t, "something else", got)
	}
}

func TestRepositoriesOf(t *testing.T) {
	t.Parallel()
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps"}}
	assert.Empty(t, repositoriesOf(p))
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	assert.Equal(t, []string{"Repository apps/nas"}, repositoriesOf(p))
	p.Spec.Repository = nil
	p.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas", Namespace: "vault"}, {Name: "offsite", Kind: kopiurv1.KindClusterRepository}}
	assert.Equal(t, []string{"Repository vault/nas", "ClusterRepository offsite"}, repositoriesOf(p))
	assert.Empty(t, repositoriesOf(&kopiurv1.Restore{}))
}
