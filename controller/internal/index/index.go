// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index wires the decisions of decide/mapper to the shared cache: it registers the field indexes and turns
// lookups into reconcile requests. A mapper reads the cache and nothing else, so that a Secret that changes costs no
// request to the API server.
package index

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// Register adds all field indexes. It also starts the informers of our kinds, which the cache's
// ReaderFailOnMissingInformer asks for.
func Register(ctx context.Context, ix client.FieldIndexer, operatorNamespace string) error {
	for _, f := range []struct {
		obj   client.Object
		field string
		keys  client.IndexerFunc
	}{
		{&kopiurv1.Repository{}, mapper.FieldNeeds, keys(func(r *kopiurv1.Repository) []string {
			return mapper.RepositoryNeeds(r.Spec, r.Namespace, operatorNamespace)
		})},
		{&kopiurv1.ClusterRepository{}, mapper.FieldNeeds, keys(func(r *kopiurv1.ClusterRepository) []string {
			return mapper.RepositoryNeeds(r.Spec.RepositorySpec, "", operatorNamespace)
		})},
		{&kopiurv1.Repository{}, mapper.FieldRepository, keys(func(r *kopiurv1.Repository) []string {
			return mapper.SeedSource(r.Spec, r.Status, r.Namespace)
		})},
		{&kopiurv1.ClusterRepository{}, mapper.FieldRepository, keys(func(r *kopiurv1.ClusterRepository) []string {
			return mapper.SeedSource(r.Spec.RepositorySpec, r.Status, "")
		})},
		{&kopiurv1.Repository{}, mapper.FieldAiling, keys(func(r *kopiurv1.Repository) []string {
			return mapper.RepositoryAiling(r.Status, r.UID)
		})},
		{&kopiurv1.ClusterRepository{}, mapper.FieldAiling, keys(func(r *kopiurv1.ClusterRepository) []string {
			return mapper.RepositoryAiling(r.Status, r.UID)
		})},
		{&kopiurv1.Repository{}, mapper.FieldUID, keys(func(r *kopiurv1.Repository) []string {
			return mapper.RepositoryUID(r.Status, r.UID)
		})},
		{&kopiurv1.ClusterRepository{}, mapper.FieldUID, keys(func(r *kopiurv1.ClusterRepository) []string {
			return mapper.RepositoryUID(r.Status, r.UID)
		})},
		{&kopiurv1.SnapshotPolicy{}, mapper.FieldRepository, keys(mapper.PolicyRepository)},
		{&kopiurv1.SnapshotPolicy{}, mapper.FieldAwaits, keys(mapper.PolicyAwaits)},
		{&kopiurv1.SnapshotPolicy{}, mapper.FieldClaim, keys(mapper.PolicyClaims)},
		{&kopiurv1.SnapshotPolicy{}, mapper.FieldFiles, keys(mapper.PolicyFiles)},
		{&kopiurv1.Snapshot{}, mapper.FieldFound, keys(mapper.SnapshotFound)},
		{&kopiurv1.Snapshot{}, mapper.FieldPolicy, keys(mapper.SnapshotPolicyOf)},
		{&kopiurv1.Snapshot{}, mapper.FieldOpenPolicy, keys(mapper.OpenSnapshotPolicyOf)},
		{&kopiurv1.Snapshot{}, mapper.FieldAwaits, keys(mapper.SnapshotAwaits)},
		{&kopiurv1.Snapshot{}, mapper.FieldUnfinished, keys(mapper.SnapshotUnfinished)},
		{&kopiurv1.Snapshot{}, mapper.FieldSchedule, keys(mapper.SnapshotScheduleOf)},
		{&kopiurv1.Snapshot{}, mapper.FieldUID, keys(mapper.SnapshotUID)},
		{&kopiurv1.Snapshot{}, mapper.FieldGroup, keys(mapper.SnapshotGroupOf)},
		{&kopiurv1.Snapshot{}, mapper.FieldWaitsForGroup, keys(mapper.SnapshotWaitsForGroup)},
		{&kopiurv1.Snapshot{}, mapper.FieldDeleting, keys(mapper.SnapshotDeleting)},
		{&kopiurv1.SnapshotSchedule{}, mapper.FieldPolicy, keys(mapper.SchedulePolicyOf)},
		{&kopiurv1.Restore{}, mapper.FieldPolicy, keys(mapper.RestorePolicyOf)},
		{&kopiurv1.Restore{}, mapper.FieldSnapshot, keys(mapper.RestoreSnapshotOf)},
		{&kopiurv1.Restore{}, mapper.FieldRepository, keys(mapper.RestoreRepositoryOf)},
		{&kopiurv1.Restore{}, mapper.FieldAwaits, keys(mapper.RestoreAwaits)},
		{&kopiurv1.SnapshotReplication{}, mapper.FieldRepository, keys(mapper.SnapshotReplicationRepositories)},
		{&kopiurv1.SnapshotReplication{}, mapper.FieldAwaits, keys(mapper.SnapshotReplicationAwaits)},
		{&corev1.PersistentVolumeClaim{}, mapper.FieldDataSource, keys(mapper.ClaimDataSource)},
		{&kopiurv1.Maintenance{}, mapper.FieldRepository, keys(mapper.MaintenanceRepository)},
		{&kopiurv1.Maintenance{}, mapper.FieldAwaits, keys(mapper.MaintenanceAwaits)},
		{&kopiurv1.RepositoryReplication{}, mapper.FieldRepository, keys(mapper.ReplicationRepository)},
		{&kopiurv1.RepositoryReplication{}, mapper.FieldDestination, keys(mapper.ReplicationDestination)},
		{&kopiurv1.RepositoryReplication{}, mapper.FieldAwaits, keys(mapper.ReplicationAwaits)},
	} {
		if err := ix.IndexField(ctx, f.obj, f.field, f.keys); err != nil {
			return fmt.Errorf("index %T by %s: %w", f.obj, f.field, err)
		}
	}
	return nil
}

// keys gives an indexer the object in its own type. An object of another type has no keys: it cannot happen, and a
// panic in an informer would take the process down.
func keys[T client.Object](of func(T) []string) client.IndexerFunc {
	return func(obj client.Object) []string {
		if typed, ok := obj.(T); ok {
			return of(typed)
		}
		return nil
	}
}
