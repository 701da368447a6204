// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper

import kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"

// Indexes of Snapshots whose claims are cut together.
const (
	// FieldGroup files them under the name of their VolumeGroupSnapshot.
	FieldGroup = "kopiur.group"
	// FieldWaitsForGroup files those of them that are not finished.
	FieldWaitsForGroup = "kopiur.waitsForGroup"
)

// SnapshotGroupOf is the group that a Snapshot's claim is cut with.
func SnapshotGroupOf(s *kopiurv1.Snapshot) []string {
	if s.Spec.Source == nil || s.Spec.Source.Group == nil {
		return nil
	}
	return []string{Named(s.Namespace, s.Spec.Source.Group.VolumeGroupSnapshotName)}
}

// SnapshotWaitsForGroup is SnapshotGroupOf for one whose copy is not made yet.
func SnapshotWaitsForGroup(s *kopiurv1.Snapshot) []string {
	if s.Status.Phase.Terminal() || s.Status.Staged != nil || s.DeletionTimestamp != nil {
		return nil
	}
	return SnapshotGroupOf(s)
}

// OfGroup is the lookup for a changed VolumeGroupSnapshot.
func OfGroup(namespace, name string) []Lookup {
	return []Lookup{{Kind: KindSnapshot, Field: FieldWaitsForGroup, Value: Named(namespace, name)}}
}
