// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

const operator = "kopiur-system"

func s3Spec() kopiurv1.RepositorySpec {
	return kopiurv1.RepositorySpec{
		Backend: kopiurv1.Backend{S3: &kopiurv1.S3Backend{
			Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}},
			TLS:  &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}},
		}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
	}
}

func TestRepositoryNeeds(t *testing.T) {
	t.Parallel()
	fs := func(v *kopiurv1.RepositoryVolume) kopiurv1.RepositorySpec {
		s := s3Spec()
		s.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: v}}
		return s
	}
	elsewhere := s3Spec()
	elsewhere.Encryption.PasswordSecretRef.Namespace = "vault"
	one := s3Spec()
	one.Backend.S3.Auth.SecretRef.Name = "password"
	identity := s3Spec()
	identity.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
	root := fs(&kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{}})
	root.MoverDefaults = &kopiurv1.MoverDefaults{SecurityContext: &corev1.SecurityContext{}}
	for name, tc := range map[string]struct {
		spec      kopiurv1.RepositorySpec
		namespace string
		want      []string
	}{
		"a Repository's things lie in its own namespace":           {s3Spec(), "apps", []string{"Secret/apps/password", "Secret/apps/keys", "ConfigMap/apps/ca"}},
		"a ClusterRepository's in the operator's":                  {s3Spec(), "", []string{"Secret/kopiur-system/password", "Secret/kopiur-system/keys", "ConfigMap/kopiur-system/ca"}},
		"or all where its password lies":                           {elsewhere, "", []string{"Secret/vault/password", "Secret/vault/keys", "ConfigMap/vault/ca"}},
		"one Secret for both is one key":                           {one, "apps", []string{"Secret/apps/password", "ConfigMap/apps/ca"}},
		"a workload identity needs its account":                    {identity, "apps", []string{"Secret/apps/password", "ConfigMap/apps/ca", "ServiceAccount/apps/cloud"}},
		"a claim":                                                  {fs(&kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "share"}}), "apps", []string{"Secret/apps/password", "PersistentVolumeClaim/apps/share"}},
		"a path of the node needs the namespace's consent":         {fs(nil), "apps", []string{"Secret/apps/password", "Namespace/apps"}},
		"and so may a security context of the repository's movers": {root, "apps", []string{"Secret/apps/password", "Namespace/apps"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, mapper.RepositoryNeeds(tc.spec, tc.namespace, operator))
		})
	}
}

func snapshot(phase kopiurv1.SnapshotPhase, waitsFor ...string) *kopiurv1.Snapshot {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "s"}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	s.Status.Phase = phase
	for _, c := range waitsFor {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionFalse})
	}
	return s
}

func TestWhatASnapshotIsWokenBy(t *testing.T) {
	t.Parallel()
	reported := snapshot(kopiurv1.SnapshotFailed, kopiurv1.ConditionCredentialsAvailable)
	reported.Status.Timing = &kopiurv1.Timing{}
	for name, tc := range map[string]struct {
		s          *kopiurv1.Snapshot
		wantPolicy []string
		wantAwaits []string
	}{
		"a new one by its policy":                        {snapshot(""), []string{"apps/web"}, nil},
		"one without a Secret by any in its namespace":   {snapshot(kopiurv1.SnapshotPending, kopiurv1.ConditionCredentialsAvailable), []string{"apps/web"}, []string{"Secret/apps", "ConfigMap/apps", "ServiceAccount/apps", "PersistentVolumeClaim/apps"}},
		"one without consent by its namespace":           {snapshot(kopiurv1.SnapshotPending, kopiurv1.ConditionMoverPermitted), []string{"apps/web"}, []string{"Namespace/apps"}},
		"one without its claim by claims":                {snapshot(kopiurv1.SnapshotPending, kopiurv1.ConditionSourcePVCAvailable), []string{"apps/web"}, []string{"PersistentVolumeClaim/apps"}},
		"a finished one by nothing":                      {snapshot(kopiurv1.SnapshotSucceeded, kopiurv1.ConditionSecurityContextCompatible), nil, nil},
		"one that failed before a mover reported, still": {snapshot(kopiurv1.SnapshotFailed), []string{"apps/web"}, []string{"Secret/apps", "ConfigMap/apps"}},
		"one whose mover reported is a record":           {reported, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.wantPolicy, mapper.OpenSnapshotPolicyOf(tc.s))
			assert.Equal(t, tc.wantAwaits, mapper.SnapshotAwaits(tc.s))
			assert.Equal(t, []string{"apps/web"}, mapper.SnapshotPolicyOf(tc.s))
		})
	}
	assert.Empty(t, mapper.SnapshotPolicyOf(&kopiurv1.Snapshot{}))
}

func schedule(change func(*kopiurv1.SnapshotSchedule)) *kopiurv1.SnapshotSchedule {
	s := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nightly"}}
	change(s)
	return s
}

func TestWhatASnapshotIsMadeBy(t *testing.T) {
	t.Parallel()
	s := snapshot("")
	assert.Empty(t, mapper.SnapshotScheduleOf(s))
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: kopiurv1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: "nightly"}}
	assert.Equal(t, []string{"apps/nightly"}, mapper.SnapshotScheduleOf(s))
	assert.Empty(t, mapper.SchedulePolicyOf(schedule(func(*kopiurv1.SnapshotSchedule) {})))
}

func TestWhatARestoreIsWokenBy(t *testing.T) {
	t.Parallel()
	restore := func(change func(*kopiurv1.Restore)) *kopiurv1.Restore {
		r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "r"}}
		change(r)
		return r
	}
	byPolicy := restore(func(r *kopiurv1.Restore) {
		r.Spec.Source.FromPolicy = &kopiurv1.FromPolicy{Name: "web", Namespace: "prod"}
	})
	assert.Equal(t, []string{"prod/web"}, mapper.RestorePolicyOf(byPolicy))
	assert.Empty(t, mapper.RestoreSnapshotOf(byPolicy))
	assert.Equal(t, []string{"*"}, mapper.RestoreRepositoryOf(byPolicy), "its repository is not known yet")

	byName := restore(func(r *kopiurv1.Restore) {
		r.Spec.Source.SnapshotRef = &kopiurv1.ObjectRef{Name: "s"}
		r.Spec.Repository = &kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	})
	assert.Equal(t, []string{"apps/s"}, mapper.RestoreSnapshotOf(byName))
	assert.Equal(t, []string{"ClusterRepository//offsite"}, mapper.RestoreRepositoryOf(byName))
	assert.Empty(t, mapper.RestorePolicyOf(byName))

	resolved := restore(func(r *kopiurv1.Restore) {
		r.Status.Resolved = &kopiurv1.RestoreResolved{Repository: &kopiurv1.RepositoryRef{Name: "nas", Namespace: "backup"}}
	})
	assert.Equal(t, []string{"Repository/backup/nas"}, mapper.RestoreRepositoryOf(resolved))
	resolved.Spec.Repository = &kopiurv1.RepositoryRef{Name: "other"}
	assert.Equal(t, []string{"Repository/backup/nas"}, mapper.RestoreRepositoryOf(resolved), "what is pinned is read from, whatever the spec says by now")

	failed := restore(func(r *kopiurv1.Restore) { r.Status.Phase = kopiurv1.RestoreFailed })
	assert.Equal(t, []string{"Secret/apps", "ConfigMap/apps"}, mapper.RestoreAwaits(failed), "it reopens when its credentials change")

	completed := restore(func(r *kopiurv1.Restore) {
		r.Status.Phase = kopiurv1.RestoreCompleted
		r.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionTargetAvailable, Status: metav1.ConditionFalse}}
	})
	assert.Empty(t, mapper.RestoreAwaits(completed))
	assert.Empty(t, mapper.RestoreRepositoryOf(completed))
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}, {}}
	assert.Equal(t, []string{"Repository/apps/nas"}, mapper.PolicyRepository(p))
	assert.Equal(t, []string{"apps/data"}, mapper.PolicyClaims(p))
	p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{}})
	assert.Equal(t, []string{"apps/data", "PersistentVolumeClaim/apps"}, mapper.PolicyClaims(p))
}

func copyTo(name string) *kopiurv1.RepositoryReplication {
	r := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
	r.Spec.Destination.S3 = &kopiurv1.S3Backend{Bucket: "copy"}
	return r
}

// TestEveryLookupMeetsItsKey: for each change, what is asked for is what some object of the woken kind is filed under.
func TestEveryLookupMeetsItsKey(t *testing.T) {
	t.Parallel()
	needs := mapper.RepositoryNeeds(s3Spec(), "apps", operator)
	path := s3Spec()
	path.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r"}}
	waiting := append(mapper.SnapshotAwaits(snapshot("", kopiurv1.ConditionCredentialsAvailable, kopiurv1.ConditionMoverPermitted)), "unused")
	ref := kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"}
	for name, tc := range map[string]struct {
		lookups []mapper.Lookup
		field   string
		keys    []string
	}{
		"a Secret wakes repositories":              {mapper.OfCore(mapper.KindRepository, mapper.KindSecret, "apps", "keys"), mapper.FieldNeeds, needs},
		"a ConfigMap wakes repositories":           {mapper.OfCore(mapper.KindClusterRepository, mapper.KindConfigMap, "apps", "ca"), mapper.FieldNeeds, needs},
		"a Namespace wakes repositories":           {mapper.OfCore(mapper.KindRepository, mapper.KindNamespace, "", "apps"), mapper.FieldNeeds, mapper.RepositoryNeeds(path, "apps", operator)},
		"a Secret wakes waiting Snapshots":         {mapper.OfCore(mapper.KindSnapshot, mapper.KindSecret, "apps", "x"), mapper.FieldAwaits, waiting},
		"a Namespace wakes waiting Snapshots":      {mapper.OfCore(mapper.KindSnapshot, mapper.KindNamespace, "", "apps"), mapper.FieldAwaits, waiting},
		"a claim wakes policies that select":       {mapper.OfCore(mapper.KindSnapshotPolicy, mapper.KindClaim, "apps", "data"), mapper.FieldClaim, []string{"PersistentVolumeClaim/apps"}},
		"a Namespace wakes its policies":           {mapper.OfCore(mapper.KindSnapshotPolicy, mapper.KindNamespace, "", "apps"), mapper.FieldAwaits, mapper.PolicyAwaits(&kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps"}})},
		"a success wakes what was lost":            {mapper.OfRepositoryUID(mapper.KindRepository, "u"), mapper.FieldAiling, mapper.RepositoryAiling(kopiurv1.RepositoryStatus{Job: &kopiurv1.ConnectJob{Failures: 1}}, "u")},
		"a pod without a Job wakes its owner":      {mapper.OfOwnerUID(mapper.KindClusterRepository, "u"), mapper.FieldUID, mapper.RepositoryUID(kopiurv1.RepositoryStatus{}, "u")},
		"a repository wakes policies":              {mapper.OfRepository(mapper.KindSnapshotPolicy, ref), mapper.FieldRepository, []string{"Repository/apps/nas"}},
		"a policy wakes unfinished Snapshots":      {mapper.OfPolicy(mapper.KindSnapshot, "apps", "web"), mapper.FieldOpenPolicy, mapper.OpenSnapshotPolicyOf(snapshot(""))},
		"a policy wakes its schedule":              {mapper.OfPolicy(mapper.KindSnapshotSchedule, "apps", "web"), mapper.FieldPolicy, mapper.SchedulePolicyOf(schedule(func(s *kopiurv1.SnapshotSchedule) { s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"} }))},
		"a policy wakes those who select":          {mapper.OfPolicy(mapper.KindSnapshotSchedule, "apps", "web"), mapper.FieldPolicy, mapper.SchedulePolicyOf(schedule(func(s *kopiurv1.SnapshotSchedule) { s.Spec.PolicySelector = &metav1.LabelSelector{} }))},
		"a repository wakes by its policies":       {mapper.OfRepository(mapper.KindSnapshotSchedule, ref), mapper.FieldRepository, []string{"Repository/apps/nas"}},
		"a replication wakes another to one place": {mapper.OfDestination(copyTo("one")), mapper.FieldDestination, mapper.ReplicationDestination(copyTo("two"))},
		"a Snapshot wakes Restores":                {mapper.OfSnapshot(mapper.KindRestore, snapshot("")), mapper.FieldSnapshot, []string{"apps/s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			met := false
			for _, l := range tc.lookups {
				met = met || l.Field == tc.field && slices.Contains(tc.keys, l.Value)
			}
			assert.True(t, met, "asks %v, filed under %v", tc.lookups, tc.keys)
		})
	}
	assert.Empty(t, mapper.RepositoryAiling(kopiurv1.RepositoryStatus{Job: &kopiurv1.ConnectJob{}}, "u"), "to one that is well it is no news")
	assert.Empty(t, mapper.OfRepositoryUID(mapper.KindRepository, ""), "a Job of an older release does not say whose it is")
	assert.Empty(t, mapper.OfCore(mapper.KindSnapshotPolicy, mapper.KindSecret, "apps", "x"), "a policy needs no Secret")
	assert.Len(t, mapper.OfRepository(mapper.KindRestore, ref), 2, "those that name it, and those that do not know theirs")
}
