// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func as(username, hostname string) policySpecs {
	return func(s *kopiurv1.SnapshotPolicySpec) {
		s.Identity = &kopiurv1.PolicyIdentity{Username: username, Hostname: hostname}
	}
}

func named(name string, p *kopiurv1.SnapshotPolicy) *kopiurv1.SnapshotPolicy {
	p.Name = name
	return p
}

func TestIdentityCollision(t *testing.T) {
	t.Parallel()
	const collides = "spec.sources[0]: Forbidden: SnapshotPolicy apps/twin files snapshots under the same web@apps:/pvc/data"
	const mayCollide = "spec.sources[0]: SnapshotPolicy apps/twin files snapshots under the same web@apps"
	mine := map[string]string{"backup": "yes"}
	going := named("twin", web(as("web", "")))
	going.DeletionTimestamp = new(metav1.Now())
	elsewhere := named("twin", web(as("web", "apps")))
	elsewhere.Namespace = "db"
	team := web()
	team.Labels = map[string]string{"team": "a"}
	byTeam := &kopiurv1.IdentityDefaults{UsernameExpr: "labels['team']"}
	sameTeam := named("twin", web())
	sameTeam.Labels = team.Labels
	for name, tc := range map[string]struct {
		policy            *kopiurv1.SnapshotPolicy
		defaults          *kopiurv1.IdentityDefaults
		other             *kopiurv1.SnapshotPolicy
		wantErr, wantWarn string
	}{
		"the same identity and path":                    {policy: web(), other: named("twin", web(as("web", ""))), wantErr: collides},
		"the same path, by its own name":                {policy: web(of(claim("other", filedUnder("/pvc/data")))), other: named("twin", web(as("web", ""))), wantErr: collides},
		"from another namespace":                        {policy: web(), other: elsewhere, wantErr: "SnapshotPolicy db/twin files snapshots under the same web@apps:/pvc/data"},
		"itself":                                        {policy: web(), other: web()},
		"another identity":                              {policy: web(), other: named("twin", web())},
		"another path":                                  {policy: web(), other: named("twin", web(as("web", ""), of(claim("more"))))},
		"one that goes away":                            {policy: web(), other: going},
		"the same identity by the repository":           {policy: team, defaults: byTeam, other: sameTeam, wantErr: "the same a@apps:/pvc/data"},
		"an identity that the repository does not make": {policy: web(), defaults: byTeam, other: sameTeam, wantErr: "spec.identity: Invalid value: \"\": the repository makes no identity of this policy"},
		"an identity of its own in place of that":       {policy: web(as("web", "")), defaults: byTeam, other: sameTeam},
		"a selector that may find the same claim":       {policy: web(of(labelled(mine))), other: named("twin", web(as("web", ""))), wantWarn: mayCollide},
		"a claim that a selector may find":              {policy: web(), other: named("twin", web(as("web", ""), of(labelled(mine)))), wantWarn: mayCollide},
		"two selectors":                                 {policy: web(of(labelled(mine))), other: named("twin", web(as("web", ""), of(labelled(nil)))), wantWarn: mayCollide},
		"a selector and an export":                      {policy: web(of(labelled(mine))), other: named("twin", web(as("web", ""), of(export("/media"))))},
		"an export and a selector":                      {policy: web(of(export("/media"))), other: named("twin", web(as("web", ""), of(labelled(mine))))},
		"a repository whose defaults are a mistake":     {policy: web(), defaults: &kopiurv1.IdentityDefaults{UsernameExpr: "1"}, other: named("twin", web(as("web", "")))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, IdentityCollision(tc.policy, tc.defaults, []kopiurv1.SnapshotPolicy{*tc.other}), tc.wantErr, tc.wantWarn)
		})
	}
}

func TestIdentityChange(t *testing.T) {
	t.Parallel()
	meant := web(as("new", ""))
	meant.Annotations = map[string]string{kopiurv1.AnnotationAllowIdentityChange: "moved"}
	notSaid := web(as("new", ""))
	notSaid.Annotations = map[string]string{kopiurv1.AnnotationAllowIdentityChange: ""}
	labels := web()
	labels.Labels = map[string]string{"team": "b"}
	oldLabels := web()
	oldLabels.Labels = map[string]string{"team": "a"}
	strategy := func(s *kopiurv1.Source) { s.SourcePathStrategy = kopiurv1.SourcePathPVCNamespacedName }
	byTeam := &kopiurv1.IdentityDefaults{HostnameExpr: "labels['team']"}
	for name, tc := range map[string]struct {
		updated, old *kopiurv1.SnapshotPolicy
		defaults     *kopiurv1.IdentityDefaults
		wantErr      string
	}{
		"nothing":                              {updated: web(), old: web()},
		"another user":                         {updated: web(as("new", "")), old: web(), wantErr: "spec.identity: Forbidden: the policy has snapshots as web@apps, and nothing would find them under new@apps"},
		"another user, as annotated":           {updated: meant, old: web()},
		"another user, annotated with nothing": {updated: notSaid, old: web(), wantErr: "annotate the policy with kopiur.home-operations.com/allow-identity-change"},
		"the user written down":                {updated: web(as("web", "apps")), old: web()},
		"a label that the hostname is made of": {updated: labels, old: oldLabels, defaults: byTeam, wantErr: "as web@a, and nothing would find them under web@b"},
		"a label that nothing is made of":      {updated: labels, old: oldLabels},
		"another path of a claim":              {updated: web(of(claim("data", filedUnder("/data")))), old: web(), wantErr: "spec.sources[0]: Forbidden: the policy has snapshots as /pvc/data, and nothing would find them under /data"},
		"another naming of paths":              {updated: web(of(claim("data", strategy))), old: web(), wantErr: "under /pvc/apps/data"},
		"another naming of selected claims":    {updated: web(of(kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{}, SourcePathStrategy: kopiurv1.SourcePathPVCNamespacedName})), old: web(of(labelled(nil))), wantErr: "as /pvc/*, and nothing would find them under /pvc/apps/*"},
		"another claim":                        {updated: web(of(claim("more"))), old: web()},
		"one claim more":                       {updated: web(of(claim("more"), claim("data"))), old: web()},
		"another file of a stream":             {updated: web(of(dumpTo("all.sql"))), old: web(of(dumpTo("db.sql"))), wantErr: "as /stream/db.sql, and nothing would find them under /stream/all.sql"},
		"another path of an export":            {updated: web(of(export("/media", filedUnder("/films")))), old: web(of(export("/media"))), wantErr: "as /media, and nothing would find them under /films"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, IdentityChange(tc.updated, tc.old, tc.defaults), tc.wantErr, "")
		})
	}
}
