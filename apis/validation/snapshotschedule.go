// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// SnapshotSchedule checks a SnapshotSchedule.
func SnapshotSchedule(s *kopiurv1.SnapshotSchedule) Findings {
	f := labelName(field.NewPath("metadata", "name"), s.Name)
	f.Merge(RunRequest(s.Annotations))
	at := field.NewPath("spec")
	spec := &s.Spec
	f.Merge(oneOf(at, variant{"policyRef", spec.PolicyRef != nil}, variant{"policySelector", spec.PolicySelector != nil}))
	if ref := spec.PolicyRef; ref != nil {
		f.Merge(ownPolicy(at.Child("policyRef"), *ref, s.Namespace))
	}
	if sel := spec.PolicySelector; sel != nil {
		f.Merge(selector(at.Child("policySelector"), *sel))
	}
	f.Merge(notNegative(at.Child("failedJobsHistoryLimit"), spec.FailedJobsHistoryLimit))
	at = at.Child("schedule")
	f.Merge(cronSpec(at, spec.Schedule.CronSpec, s.Namespace+"/"+s.Name))
	if n := spec.Schedule.StartingDeadlineSeconds; n != nil && *n < 0 {
		f.invalid(at.Child("startingDeadlineSeconds"), *n, "write 0 or more, or leave it out to start however late")
	}
	return f
}
