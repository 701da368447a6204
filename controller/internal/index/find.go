// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// find asks one index of the shared cache.
func find(ctx context.Context, c client.Reader, kind mapper.Kind, field, value string) ([]client.Object, error) {
	var list client.ObjectList
	switch kind {
	case mapper.KindRepository:
		list = &kopiurv1.RepositoryList{}
	case mapper.KindClusterRepository:
		list = &kopiurv1.ClusterRepositoryList{}
	case mapper.KindSnapshotPolicy:
		list = &kopiurv1.SnapshotPolicyList{}
	case mapper.KindSnapshot:
		list = &kopiurv1.SnapshotList{}
	case mapper.KindRestore:
		list = &kopiurv1.RestoreList{}
	case mapper.KindSnapshotSchedule:
		list = &kopiurv1.SnapshotScheduleList{}
	case mapper.KindSnapshotReplication:
		list = &kopiurv1.SnapshotReplicationList{}
	case mapper.KindMaintenance:
		list = &kopiurv1.MaintenanceList{}
	case mapper.KindRepositoryReplication:
		list = &kopiurv1.RepositoryReplicationList{}
	default:
		return nil, fmt.Errorf("find %s: no such kind", kind)
	}
	// Only names are taken from the answers, so they need not be copied.
	if err := c.List(ctx, list, client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find %s by %s: %w", kind, field, err)
	}
	var out []client.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(client.Object); ok {
			out = append(out, obj)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find %s by %s: %w", kind, field, err)
	}
	return out, nil
}
