// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestIdentityDefaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		defaults kopiurv1.IdentityDefaults
		want     string
	}{
		"expressions over all there is":     {kopiurv1.IdentityDefaults{Cluster: "home", HostnameExpr: `namespace + "." + cluster`, UsernameExpr: `"team" in labels ? labels["team"] : policyName`}, ""},
		"a misspelt variable":               {kopiurv1.IdentityDefaults{HostnameExpr: `namespce`}, "spec.identityDefaults.hostnameExpr: Invalid value: \"namespce\": expression, column 1, at \"namespce\": undeclared reference to 'namespce'; the variables are namespace, policyName, labels, annotations, cluster"},
		"a number":                          {kopiurv1.IdentityDefaults{UsernameExpr: `size(policyName)`}, "spec.identityDefaults.usernameExpr: Invalid value: \"size(policyName)\": expression gives int, not string"},
		"something always bad":              {kopiurv1.IdentityDefaults{UsernameExpr: `policyName + "@" + namespace`}, "it must not contain @"},
		"both at once are both refused (1)": {kopiurv1.IdentityDefaults{UsernameExpr: `a`, HostnameExpr: `b`}, "spec.identityDefaults.usernameExpr"},
		"both at once are both refused (2)": {kopiurv1.IdentityDefaults{UsernameExpr: `a`, HostnameExpr: `b`}, "spec.identityDefaults.hostnameExpr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c := nas(), offsite()
			r.Spec.IdentityDefaults, c.Spec.IdentityDefaults = &tc.defaults, &tc.defaults
			matches(t, Repository(r), tc.want, "")
			matches(t, ClusterRepository(c), tc.want, "")
		})
	}
}

func TestRepositoryIdentityChange(t *testing.T) {
	t.Parallel()
	policy := func(name string, own *kopiurv1.PolicyIdentity) kopiurv1.SnapshotPolicy {
		p := kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
		p.Spec.Identity = own
		return p
	}
	home := &kopiurv1.IdentityDefaults{Cluster: "home"}
	used := []kopiurv1.SnapshotPolicy{policy("db", nil)}
	for name, tc := range map[string]struct {
		old, updated *kopiurv1.IdentityDefaults
		annotation   string
		policies     []kopiurv1.SnapshotPolicy
		want         string
	}{
		"nothing changes":                                    {old: home, updated: home, policies: used},
		"nobody has snapshots yet":                           {updated: home},
		"the cluster gets a name":                            {updated: home, policies: used, want: "SnapshotPolicy apps/db (from db@apps to db@apps.home). Set spec.identity in them to keep it"},
		"the cluster loses its name":                         {old: home, policies: used, want: "SnapshotPolicy apps/db (from db@apps.home to db@apps)"},
		"an expression changes the username":                 {updated: &kopiurv1.IdentityDefaults{UsernameExpr: `namespace + "-" + policyName`}, policies: used, want: "(from db@apps to apps-db@apps)"},
		"an expression that says the same":                   {old: home, updated: &kopiurv1.IdentityDefaults{Cluster: "home", HostnameExpr: `namespace + "." + cluster`}, policies: used},
		"an expression that gives nothing for a policy":      {updated: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, policies: used, want: "SnapshotPolicy apps/db (from db@apps to nothing: identityDefaults.usernameExpr"},
		"an expression that gave nothing has no history":     {old: &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}, policies: used},
		"a policy that names itself stays where it is":       {updated: home, policies: []kopiurv1.SnapshotPolicy{policy("db", &kopiurv1.PolicyIdentity{Username: "db", Hostname: "apps"})}},
		"a policy that names only its user moves":            {updated: home, policies: []kopiurv1.SnapshotPolicy{policy("db", &kopiurv1.PolicyIdentity{Username: "pg"})}, want: "(from pg@apps to pg@apps.home)"},
		"a change that is said to be meant":                  {updated: home, annotation: "yes", policies: used},
		"a change with an empty annotation":                  {updated: home, annotation: "", policies: used, want: "spec.identityDefaults: Forbidden"},
		"defaults that cannot be read are refused elsewhere": {updated: &kopiurv1.IdentityDefaults{UsernameExpr: `(`}, policies: used},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{kopiurv1.AnnotationAllowIdentityChange: tc.annotation}
			matches(t, RepositoryIdentityChange(tc.updated, tc.old, annotations, tc.policies), tc.want, "")
		})
	}
}

func TestRepositoryIdentityChangeNamesAFew(t *testing.T) {
	t.Parallel()
	var many []kopiurv1.SnapshotPolicy
	for i := range 40 {
		many = append(many, kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: fmt.Sprint("db", i)}})
	}
	errs, _ := texts(RepositoryIdentityChange(&kopiurv1.IdentityDefaults{Cluster: "home"}, nil, nil, many))
	assert.Contains(t, errs, "apps/db0 ")
	assert.Contains(t, errs, "apps/db2 ")
	assert.NotContains(t, errs, "apps/db3 ")
	assert.Contains(t, errs, ", and more.")
}
