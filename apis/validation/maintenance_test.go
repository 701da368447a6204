// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// upkeep is a Maintenance in namespace apps that has nothing wrong.
func upkeep(changes ...func(*kopiurv1.Maintenance)) *kopiurv1.Maintenance {
	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nas"}}
	m.Spec.Repository.Name = "nas"
	m.Spec.Schedule = kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "0 */6 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}}
	m.Spec.Ownership.Owner = "kopiur/apps/nas"
	for _, change := range changes {
		change(m)
	}
	return m
}

type upkeeps = func(*kopiurv1.Maintenance)

func owned(o kopiurv1.MaintenanceOwnership) upkeeps {
	return func(m *kopiurv1.Maintenance) { m.Spec.Ownership = o }
}

func ownedBy(owner string, aliases ...string) upkeeps {
	return owned(kopiurv1.MaintenanceOwnership{Owner: owner, OwnerAliases: aliases})
}

func requested(at, mode string) map[string]string {
	return map[string]string{kopiurv1.AnnotationRunRequested: at, kopiurv1.AnnotationRunMode: mode}
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	annotated := func(a map[string]string) upkeeps { return func(m *kopiurv1.Maintenance) { m.Annotations = a } }
	moving := func(i kopiurv1.InheritSecurityContextFrom) upkeeps {
		return func(m *kopiurv1.Maintenance) { m.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &i} }
	}
	for name, tc := range map[string]struct {
		maintenance        *kopiurv1.Maintenance
		wantErr, wantWarns string
	}{
		"a usual one passes": {upkeep(), "", ""},
		"one of a ClusterRepository passes": {upkeep(ownedBy("kopiur/clusterrepository/offsite"), func(m *kopiurv1.Maintenance) {
			m.Spec.Repository = kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
			m.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
		}), "", ""},
		"the name becomes a label":                 {upkeep(func(m *kopiurv1.Maintenance) { m.Name = strings.Repeat("a", 64) }), "metadata.name: Invalid value", ""},
		"a repository needs a name":                {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Repository.Name = "" }), "spec.repository.name: Required", ""},
		"quick needs a cron":                       {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Quick.Cron = "" }), "spec.schedule.quick.cron: Required", ""},
		"full is no macro":                         {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Full.Cron = "@daily" }), "spec.schedule.full.cron: Invalid value: \"@daily\"", ""},
		"quick every ten minutes is warned of":     {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Quick.Cron = "*/10 * * * *" }), "", "spec.schedule.quick.cron: it runs more than once an hour"},
		"a field of its own minute passes":         {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Full.Cron = "H H * * *" }), "", ""},
		"a timezone that is none is refused":       {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Timezone = "CEST" }), "spec.schedule.timezone: Invalid value: \"CEST\"", ""},
		"a timezone of one run is checked too":     {upkeep(func(m *kopiurv1.Maintenance) { m.Spec.Schedule.Full.Timezone = "Berlin" }), "spec.schedule.full.timezone: Invalid value", ""},
		"an owner is needed":                       {upkeep(ownedBy("")), "spec.ownership.owner: Required value: write a name of its own for this Maintenance", ""},
		"an owner as kopia has it passes":          {upkeep(ownedBy("kopiur@kopiur-apps-nas")), "", ""},
		"an owner of a cluster passes":             {upkeep(ownedBy("kopiur/home/apps/nas")), "", ""},
		"an owner with a space is refused":         {upkeep(ownedBy("my laptop")), "spec.ownership.owner: Invalid value: \"my laptop\"", ""},
		"an owner with an empty part is refused":   {upkeep(ownedBy("kopiur//nas")), "no empty part between slashes", ""},
		"aliases pass":                             {upkeep(ownedBy("kopiur/apps/nas", "kopiur@old-pod", "kopiur/old/nas")), "", ""},
		"an empty alias is refused":                {upkeep(ownedBy("kopiur/apps/nas", "")), "spec.ownership.ownerAliases[0]: Required", ""},
		"an alias that is the owner is no use":     {upkeep(ownedBy("kopiur/apps/nas", "kopiur/apps/nas")), "", "spec.ownership.ownerAliases[0]: it is there already"},
		"an alias twice is no use":                 {upkeep(ownedBy("kopiur/apps/nas", "a", "a")), "", "spec.ownership.ownerAliases[1]: it is there already"},
		"taking over by force is warned of":        {upkeep(owned(kopiurv1.MaintenanceOwnership{Owner: "o", TakeoverPolicy: kopiurv1.TakeoverForce})), "", "set it back to Never"},
		"asking before passes":                     {upkeep(owned(kopiurv1.MaintenanceOwnership{Owner: "o", TakeoverPolicy: kopiurv1.TakeoverPromptCondition})), "", ""},
		"another takeover policy is refused":       {upkeep(owned(kopiurv1.MaintenanceOwnership{Owner: "o", TakeoverPolicy: "Always"})), "spec.ownership.takeoverPolicy: Invalid value: \"Always\"", ""},
		"a user from a workload passes":            {upkeep(moving(kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}})), "", ""},
		"there is no claim to back up":             {upkeep(moving(kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}})), "spec.mover.inheritSecurityContextFrom.pvcConsumer: Forbidden", ""},
		"there is no backup with a user":           {upkeep(moving(kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}})), "spec.mover.inheritSecurityContextFrom.snapshot: Forbidden", ""},
		"a run may be asked for":                   {upkeep(annotated(requested("2026-03-05T09:00:00Z", "full"))), "", ""},
		"a run that a template left empty is none": {upkeep(annotated(requested("", ""))), "", ""},
		"a run now is no time":                     {upkeep(annotated(requested("now", "quick"))), "metadata.annotations[kopiur.home-operations.com/run-requested]: Invalid value: \"now\"", ""},
		"a run has one of two modes":               {upkeep(annotated(requested("2026-03-05T09:00:00Z", "deep"))), "metadata.annotations[kopiur.home-operations.com/run-mode]: Invalid value: \"deep\": write quick or full", ""},
		"copies of a Repository's Secrets are not": {upkeep(func(m *kopiurv1.Maintenance) {
			m.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
		}), "", "never copied"},
		"a negative backoff is refused": {upkeep(func(m *kopiurv1.Maintenance) {
			m.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(-1))}
		}), "spec.failurePolicy.backoffLimit: Invalid value", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Maintenance(tc.maintenance), tc.wantErr, tc.wantWarns)
		})
	}
}

// TestMaintenanceOwner: two that take themselves for one delete what the other is about to need (K-6).
func TestMaintenanceOwner(t *testing.T) {
	t.Parallel()
	in := func(namespace, name string) upkeeps {
		return func(m *kopiurv1.Maintenance) {
			m.Namespace, m.Name = namespace, name
			m.Spec.Repository.Namespace = "apps"
		}
	}
	for name, tc := range map[string]struct {
		other   *kopiurv1.Maintenance
		wantErr string
	}{
		"itself is no other":                         {upkeep(), ""},
		"one with a name of its own is told apart":   {upkeep(in("backup", "nas"), ownedBy("kopiur/backup/nas")), ""},
		"one of the same name is refused":            {upkeep(in("backup", "nas")), `spec.ownership.owner: Invalid value: "kopiur/apps/nas": Maintenance backup/nas of the same repository has this name too`},
		"one whose alias is our name is refused":     {upkeep(in("apps", "second"), ownedBy("o", "kopiur/apps/nas")), "Maintenance apps/second"},
		"one of the same name on another repository": {upkeep(in("backup", "nas"), func(m *kopiurv1.Maintenance) { m.Spec.Repository.Namespace = "backup" }), ""},
		"one of the same name on a ClusterRepository": {upkeep(in("apps", "cluster"), func(m *kopiurv1.Maintenance) {
			m.Spec.Repository = kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, MaintenanceOwner(upkeep(), []kopiurv1.Maintenance{*tc.other}), tc.wantErr, "")
		})
	}
	aliased := upkeep(ownedBy("kopiur/apps/nas", "kopiur/apps/old"))
	matches(t, MaintenanceOwner(aliased, []kopiurv1.Maintenance{*upkeep(in("apps", "old"), ownedBy("kopiur/apps/old"))}), "spec.ownership.ownerAliases[0]: Invalid value", "")
}
