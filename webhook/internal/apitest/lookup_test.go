// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// offsite is a ClusterRepository for namespaces with a label.
func (e *env) offsite() *kopiurv1.ClusterRepository {
	r := object(e, e.name, &kopiurv1.ClusterRepository{})
	r.Namespace = ""
	r.Spec.RepositorySpec = e.repository("").Spec
	r.Spec.Encryption.PasswordSecretRef.Namespace = "vault"
	r.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}
	return r
}

// policy backs up a claim into that ClusterRepository.
func (e *env) policy(name string) *kopiurv1.SnapshotPolicy {
	p := object(e, name, &kopiurv1.SnapshotPolicy{})
	p.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: e.name}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	return p
}

// What a policy means among the others, as the webhook sees it in a cluster.
func TestLookups(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.call(e.start())
	e.admits()
	ctx := t.Context()
	e.create(e.offsite())

	// Right after the ClusterRepository: where the cache has not seen it yet, the API server is asked.
	require.ErrorContains(t, e.try(e.policy("data")), "spec.repository: Forbidden: ClusterRepository "+e.name+" does not allow namespace "+e.name)
	ns := &corev1.Namespace{}
	require.NoError(t, e.client.Get(ctx, client.ObjectKey{Name: e.name}, ns))
	ns.Labels["backup"] = "yes"
	require.NoError(t, e.client.Update(ctx, ns))
	p := e.policy("data")
	e.eventually("the namespace's label to be seen", func(context.Context) error { return e.try(p.DeepCopy()) })
	e.create(p)

	other := e.policy("other")
	other.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "data"}
	e.eventually("the other policy to be seen", func(context.Context) error {
		if err := e.try(other.DeepCopy()); err == nil {
			return assert.AnError
		}
		return nil
	})
	require.ErrorContains(t, e.try(other.DeepCopy()), "SnapshotPolicy "+e.name+"/data files snapshots under the same data@"+e.name+":/pvc/data")

	rename := func() error {
		got := p.DeepCopy()
		require.NoError(t, e.client.Get(ctx, client.ObjectKeyFromObject(p), got))
		got.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "renamed"}
		return e.client.Update(ctx, got, client.DryRunAll)
	}
	require.NoError(t, rename(), "nothing was stored yet")
	// A Snapshot that the policy's status does not tell of, such as after its policy was made again.
	s := object(e, "old", &kopiurv1.Snapshot{Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "data"}}})
	s.Labels[kopiurv1.LabelSnapshotID] = "k123"
	e.create(s)
	require.ErrorContains(t, rename(), "spec.identity: Forbidden: the policy has snapshots as data@"+e.name)

	picking := object(e, "third", &kopiurv1.Snapshot{Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "data"}, Source: &kopiurv1.SnapshotSource{SourceIndex: 2}}})
	require.ErrorContains(t, e.try(picking), "SnapshotPolicy data has 1 sources")

	cr := e.offsite()
	require.NoError(t, e.client.Get(ctx, client.ObjectKeyFromObject(cr), cr))
	cr.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: "home"}
	require.ErrorContains(t, e.client.Update(ctx, cr, client.DryRunAll), "SnapshotPolicy "+e.name+"/data (from data@"+e.name+" to data@"+e.name+".home)")
}

// A webhook that may look up nothing still judges every object by itself, and says what it left out.
func TestWithoutLookups(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.name + "-webhook-rbac"}}
	require.NoError(t, e.client.Delete(t.Context(), role))
	e.create(e.offsite())
	e.call(e.start())
	e.eventually("an answer", func(context.Context) error { return e.try(e.policy("data")) })
	e.warnings.take()
	require.NoError(t, e.try(e.policy("data")))
	assert.Contains(t, join(e.warnings.take()), "not checked: what ClusterRepository "+e.name+" says of this policy (")
	wrong := e.policy("data")
	wrong.Spec.Sources[0].SourcePathOverride = "relative"
	require.ErrorContains(t, e.try(wrong), "spec.sources[0].sourcePathOverride")
}
