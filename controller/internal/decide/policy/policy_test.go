// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
)

func web(change ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "apps"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestCollides(t *testing.T) {
	t.Parallel()
	other := func(change ...func(*kopiurv1.SnapshotPolicy)) kopiurv1.SnapshotPolicy {
		p := web(func(p *kopiurv1.SnapshotPolicy) {
			p.Name = "twin"
			p.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "web"}
		})
		for _, f := range change {
			f(p)
		}
		return *p
	}
	for name, tc := range map[string]struct {
		other kopiurv1.SnapshotPolicy
		want  string
	}{
		"the same identity and path": {other(), "apps/twin"},
		"from another namespace": {other(func(p *kopiurv1.SnapshotPolicy) {
			p.Namespace, p.Spec.Repository.Namespace, p.Spec.Identity.Hostname = "else", "apps", "apps"
		}), "else/twin"},
		"one of several repositories": {other(func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Repository, p.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "offsite"}, {Name: "nas", Namespace: "apps"}}
		}), "apps/twin"},
		"itself":                     {*web(), ""},
		"another identity":           {other(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Identity = nil }), ""},
		"another path":               {other(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources[0].PVC.Name = "more" }), ""},
		"another repository":         {other(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Repository.Name = "offsite" }), ""},
		"another kind of repository": {other(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Repository.Kind = kopiurv1.KindClusterRepository }), ""},
		"one that is going away":     {other(func(p *kopiurv1.SnapshotPolicy) { p.DeletionTimestamp = new(metav1.Now()) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Collides(web(), []kopiurv1.SnapshotPolicy{tc.other})
			if tc.want == "" {
				assert.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, policy.Collision{Policy: tc.want, Path: "/pvc/data"}, *got)
		})
	}
}
