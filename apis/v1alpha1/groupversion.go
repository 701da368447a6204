// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the types of kopiur.home-operations.com/v1alpha1. The names are a wire contract that manifests
// in users' repositories depend on: nothing here is ever renamed.
//
// +kubebuilder:object:generate=true
// +groupName=kopiur.home-operations.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "kopiur.home-operations.com"

var (
	// GroupVersion is the group and version of these types.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder collects the types. It is apimachinery's own, so that this module needs no controller-runtime.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Repository{}, &RepositoryList{},
		&ClusterRepository{}, &ClusterRepositoryList{},
		&SnapshotPolicy{}, &SnapshotPolicyList{},
		&Snapshot{}, &SnapshotList{},
		&SnapshotSchedule{}, &SnapshotScheduleList{},
		&Restore{}, &RestoreList{},
		&Maintenance{}, &MaintenanceList{},
		&RepositoryReplication{}, &RepositoryReplicationList{},
		&SnapshotReplication{}, &SnapshotReplicationList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
