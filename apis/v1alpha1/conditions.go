// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Conditions that every kind has, as kstatus reads them.
const (
	// ConditionReady: the latest generation is in effect. It sums up the others.
	ConditionReady = "Ready"
	// ConditionReconciling: work is under way or will be retried by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: nothing changes until you act; the message says what.
	ConditionStalled = "Stalled"
	// ConditionSuspended: spec.suspend is set.
	ConditionSuspended = "Suspended"
)

// Conditions of repositories.
const (
	// ConditionBootstrapped: the repository was connected to once and its unique id is pinned.
	ConditionBootstrapped = "Bootstrapped"
	// ConditionBackendReachable: the last connect reached the store.
	ConditionBackendReachable = "BackendReachable"
	// ConditionIndexBlobHealth is False where the repository has more index blobs than health.indexBlobWarnThreshold.
	ConditionIndexBlobHealth = "IndexBlobHealth"
	// ConditionMaintenanceConfigured: a Maintenance takes care of the repository.
	ConditionMaintenanceConfigured = "MaintenanceConfigured"
	// ConditionMassDeletionHeld: deletions wait for an acknowledgement.
	ConditionMassDeletionHeld = "MassDeletionHeld"
	// ConditionSeeded: spec.seed was carried out, or was not needed.
	ConditionSeeded = "Seeded"
	// ConditionServerAvailable: the web UI of spec.server is served; absent without spec.server.
	ConditionServerAvailable = "ServerAvailable"
)

// Conditions of Snapshots and Restores: the gates before a mover starts, in their order.
const (
	// ConditionRepositoryReady: the repository may be used.
	ConditionRepositoryReady = "RepositoryReady"
	// ConditionRepositoryWritable is False where the repository has mode ReadOnly; absent otherwise.
	ConditionRepositoryWritable = "RepositoryWritable"
	// ConditionCredentialsAvailable: the Secrets exist where the mover runs.
	ConditionCredentialsAvailable = "CredentialsAvailable"
	// ConditionMoverPermitted: the Namespace allows the mover's privileges.
	ConditionMoverPermitted = "MoverPermitted"
	// ConditionSourcePVCAvailable: the claim to back up exists.
	ConditionSourcePVCAvailable = "SourcePvcAvailable"
	// ConditionSourceStaged: the staged copy may be read.
	ConditionSourceStaged = "SourceStaged"
	// ConditionTargetAvailable: the claim to restore into may be written.
	ConditionTargetAvailable = "TargetAvailable"
	// ConditionReferentAvailable: what the Restore's source names exists.
	ConditionReferentAvailable = "ReferentAvailable"
)

// Conditions about the outcome.
const (
	// ConditionSnapshotCreated: the snapshot is in the repository.
	ConditionSnapshotCreated = "SnapshotCreated"
	// ConditionSecurityContextCompatible is False where entries were left out because the mover could not read them.
	ConditionSecurityContextCompatible = "SecurityContextCompatible"
	// ConditionMetadataAltered: a writable source let the kubelet change groups and modes of the copy that was stored.
	ConditionMetadataAltered = "MetadataAltered"
	// ConditionResolved: the Restore knows which snapshot it means, or that there is none.
	ConditionResolved = "Resolved"
	// ConditionOwnershipApplied: owners, modes and times of all restored entries were set.
	ConditionOwnershipApplied = "OwnershipApplied"
)

// Conditions of Restores besides those they share with Snapshots.
const (
	// ConditionAwaitingClaim: no claim names this populator yet.
	ConditionAwaitingClaim = "AwaitingClaim"
	// ConditionRestoreSecurityContextCompatible is False where the mover's user could not write what the snapshot holds.
	ConditionRestoreSecurityContextCompatible = "RestoreSecurityContextCompatible"
)

// Conditions of Maintenances and replications.
const (
	// ConditionLeaseOwned: this Maintenance is the registered owner of the repository's maintenance.
	ConditionLeaseOwned = "LeaseOwned"
	// ConditionPruned is False where spec.pruning was not carried out by the last run.
	ConditionPruned = "Pruned"
	// ConditionRunRequested is False where the annotation that asks for a run cannot be read; absent otherwise.
	ConditionRunRequested = "RunRequested"
	// ConditionIdentityOverlap: the destination has snapshots of a selected identity that are no copies.
	ConditionIdentityOverlap = "IdentityOverlap"
)
