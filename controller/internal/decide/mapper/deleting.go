// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper

import (
	"slices"
	"strings"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// FieldDeleting is on Snapshots that are being deleted and wait for Kopiur: their repository, and what decides about
// their data.
const FieldDeleting = "kopiur.deleting"

// Values of FieldDeleting.

// DeletingFrom stands for the Snapshots whose data is deleted from a repository. ref is filled in.
func DeletingFrom(ref kopiurv1.RepositoryRef) string { return "from/" + Repository(ref) }

// DeletingUnpinned stands for those that do not say which repository they are in, by their policy.
func DeletingUnpinned(namespace, policy string) string { return "unpinned/" + Named(namespace, policy) }

// DeletingOfPolicy stands for those of a policy.
func DeletingOfPolicy(namespace, name string) string { return "policy/" + Named(namespace, name) }

// DeletingOfSchedule stands for those of a schedule.
func DeletingOfSchedule(namespace, name string) string { return "schedule/" + Named(namespace, name) }

// DeletingIn stands for those in a namespace.
func DeletingIn(namespace string) string { return "namespace/" + namespace }

// PinnedRepository is where a Snapshot's data lies, as far as the Snapshot itself says so: what its run resolved, or what
// its spec names.
func PinnedRepository(s *kopiurv1.Snapshot) *kopiurv1.RepositoryRef {
	switch {
	case s.Status.Resolved != nil && s.Status.Resolved.Repository != nil:
		return new(s.Status.Resolved.Repository.In(s.Namespace))
	case s.Spec.Repository != nil:
		return new(s.Spec.Repository.In(s.Namespace))
	default:
		return nil
	}
}

// ScheduleOf names the schedule that made a Snapshot, and its UID where an owner reference has it. The label alone has
// no UID; of a name that is too long for a label it has a part, and such a schedule is not found.
func ScheduleOf(s *kopiurv1.Snapshot) (name, uid string) {
	for _, ref := range s.OwnerReferences {
		if ref.Kind == "SnapshotSchedule" && strings.HasPrefix(ref.APIVersion, kopiurv1.GroupName+"/") {
			return ref.Name, string(ref.UID)
		}
	}
	return s.Labels[kopiurv1.LabelSchedule], ""
}

// SnapshotDeleting are the values of FieldDeleting.
func SnapshotDeleting(s *kopiurv1.Snapshot) []string {
	if s.DeletionTimestamp == nil || !slices.Contains(s.Finalizers, kopiurv1.FinalizerSnapshot) {
		return nil
	}
	keys := []string{DeletingIn(s.Namespace)}
	if ref := PinnedRepository(s); ref != nil {
		keys = append(keys, DeletingFrom(*ref))
	}
	if s.Spec.PolicyRef != nil {
		ref := s.Spec.PolicyRef.In(s.Namespace)
		keys = append(keys, DeletingOfPolicy(ref.Namespace, ref.Name))
		if PinnedRepository(s) == nil {
			keys = append(keys, DeletingUnpinned(ref.Namespace, ref.Name))
		}
	}
	if name, _ := ScheduleOf(s); name != "" {
		keys = append(keys, DeletingOfSchedule(s.Namespace, name))
	}
	return keys
}

// Deleting asks for the Snapshots with one value of FieldDeleting.
func Deleting(value string) Lookup {
	return Lookup{Kind: KindSnapshot, Field: FieldDeleting, Value: value}
}
