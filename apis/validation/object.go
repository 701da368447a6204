// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Object checks one object by its kind. What is not of our kinds has no findings.
func Object(obj runtime.Object) Findings {
	switch o := obj.(type) {
	case *kopiurv1.Repository:
		return Repository(o)
	case *kopiurv1.ClusterRepository:
		return ClusterRepository(o)
	case *kopiurv1.SnapshotPolicy:
		return SnapshotPolicy(o)
	case *kopiurv1.Snapshot:
		return Snapshot(o)
	case *kopiurv1.SnapshotSchedule:
		return SnapshotSchedule(o)
	case *kopiurv1.Restore:
		return Restore(o)
	case *kopiurv1.Maintenance:
		return Maintenance(o)
	case *kopiurv1.RepositoryReplication:
		return RepositoryReplication(o)
	case *kopiurv1.SnapshotReplication:
		return SnapshotReplication(o)
	default:
		return Findings{}
	}
}

// Update checks what a change does; the new form itself is for Object. Both must be of one kind.
func Update(updated, old runtime.Object) Findings {
	switch n := updated.(type) {
	case *kopiurv1.Repository:
		if o, ok := old.(*kopiurv1.Repository); ok {
			return RepositoryUpdate(n, o)
		}
	case *kopiurv1.ClusterRepository:
		if o, ok := old.(*kopiurv1.ClusterRepository); ok {
			return ClusterRepositoryUpdate(n, o)
		}
	case *kopiurv1.SnapshotPolicy:
		if o, ok := old.(*kopiurv1.SnapshotPolicy); ok {
			return SnapshotPolicyUpdate(n, o)
		}
	case *kopiurv1.Snapshot:
		if o, ok := old.(*kopiurv1.Snapshot); ok {
			return SnapshotUpdate(n, o)
		}
	case *kopiurv1.Restore:
		if o, ok := old.(*kopiurv1.Restore); ok {
			return RestoreUpdate(n, o)
		}
	}
	return Findings{}
}
