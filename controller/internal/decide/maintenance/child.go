// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// When a repository is maintained where nobody says otherwise.
var (
	defaultQuick = kopiurv1.CronSpec{Cron: "0 */6 * * *", Jitter: "30m"}
	defaultFull  = kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "1h"}
)

// Child is the Maintenance that Kopiur makes for a repository, nil where it makes none: it was told not to, or the
// repository is never written to.
func Child(r moverjob.Repository, owner metav1.OwnerReference) *kopiurv1.Maintenance {
	spec := r.Spec.Maintenance
	if spec == nil {
		spec = &kopiurv1.RepositoryMaintenance{}
	}
	if spec.Enabled != nil && !*spec.Enabled || r.Spec.Mode == kopiurv1.ModeReadOnly {
		return nil
	}
	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{
		Name: r.Ref.Name, Namespace: r.HomeNamespace,
		Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMaintenance,
			kopiurv1.LabelRepositoryUID: string(r.UID),
		},
		OwnerReferences: []metav1.OwnerReference{owner},
	}}
	if spec.Namespace != "" && r.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		m.Namespace = spec.Namespace
	}
	ref := r.Ref
	m.Spec = kopiurv1.MaintenanceSpec{
		Repository: ref,
		Schedule:   kopiurv1.MaintenanceSchedule{Quick: defaultQuick, Full: defaultFull},
		Ownership:  kopiurv1.MaintenanceOwnership{Owner: OwnerName(r), TakeoverPolicy: kopiurv1.TakeoverNever},
		Mover:      spec.Mover, FailurePolicy: spec.FailurePolicy,
	}
	if d := r.Spec.ScheduleDefaults; d != nil && d.Jitter != "" {
		m.Spec.Schedule.Quick.Jitter, m.Spec.Schedule.Full.Jitter = "", "" // the repository's own
	}
	if spec.Schedule != nil {
		m.Spec.Schedule = *spec.Schedule
	}
	if spec.TakeoverPolicy != "" {
		m.Spec.Ownership.TakeoverPolicy = spec.TakeoverPolicy
	}
	if m.Namespace != r.HomeNamespace && r.ProjectionAllowed {
		m.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
	}
	return m
}
