// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/identity"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestOf(t *testing.T) {
	t.Parallel()
	own := func(username, hostname string) *kopiurv1.PolicyIdentity {
		return &kopiurv1.PolicyIdentity{Username: username, Hostname: hostname}
	}
	for name, tc := range map[string]struct {
		defaults      *kopiurv1.IdentityDefaults
		own           *kopiurv1.PolicyIdentity
		labels        map[string]string
		want, wantErr string
	}{
		"the policy at its namespace":             {want: "db@apps:/pvc/data"},
		"with empty defaults too":                 {defaults: &kopiurv1.IdentityDefaults{}, want: "db@apps:/pvc/data"},
		"the cluster follows the namespace":       {defaults: &kopiurv1.IdentityDefaults{Cluster: "home"}, want: "db@apps.home:/pvc/data"},
		"a hostname of the repository's choice":   {defaults: &kopiurv1.IdentityDefaults{Cluster: "home", HostnameExpr: `cluster + "-" + namespace`}, want: "db@home-apps:/pvc/data"},
		"a username of the repository's choice":   {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `namespace + "-" + policyName`}, want: "apps-db@apps:/pvc/data"},
		"the policy's own wins":                   {defaults: &kopiurv1.IdentityDefaults{Cluster: "home", UsernameExpr: `"x"`, HostnameExpr: `"y"`}, own: own("postgres", "nas"), want: "postgres@nas:/pvc/data"},
		"the policy's own username alone":         {defaults: &kopiurv1.IdentityDefaults{Cluster: "home"}, own: own("postgres", ""), want: "postgres@apps.home:/pvc/data"},
		"a label of the policy":                   {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, labels: map[string]string{"team": "web"}, want: "web@apps:/pvc/data"},
		"a label that the policy does not have":   {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, wantErr: "identityDefaults.usernameExpr: expression: no such key: team"},
		"an expression that is not asked":         {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, own: own("postgres", ""), want: "postgres@apps:/pvc/data"},
		"an expression that cannot be read":       {defaults: &kopiurv1.IdentityDefaults{HostnameExpr: `namespce`}, wantErr: "identityDefaults.hostnameExpr: expression, column 1"},
		"a label asked for first is simply none":  {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `"team" in labels ? labels["team"] : policyName`}, want: "db@apps:/pvc/data"},
		"an identity that would end the username": {defaults: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, labels: map[string]string{"team": "a@b"}, wantErr: "cannot be a username or hostname"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "db", Labels: tc.labels}}
			p.Spec.Identity = tc.own
			rule, err := identity.Compile(tc.defaults)
			var got kopiurv1.Identity
			if err == nil {
				got, err = rule.Of(p, "/pvc/data")
			}
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				var field *identity.FieldError
				assert.ErrorAs(t, err, &field)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.String())
		})
	}
}
