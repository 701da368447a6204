// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Conditions of Snapshots beyond the gates.
const (
	// ConditionHooksSucceeded is False where a hook before or after the snapshot failed.
	ConditionHooksSucceeded = "HooksSucceeded"
	// ConditionRepositorySlotAvailable is False while as many movers run as the repository allows.
	ConditionRepositorySlotAvailable = "RepositorySlotAvailable"
	// ConditionSecurityContextResolved is False while nobody is found whose user and groups the mover should take over.
	ConditionSecurityContextResolved = "SecurityContextResolved"
	// ConditionSecurityContextInherited says what was unusual about taking them over; absent where nothing was.
	ConditionSecurityContextInherited = "SecurityContextInherited"
	// ConditionPinned: the snapshot is pinned in the repository.
	ConditionPinned = "Pinned"
	// ConditionDeletionHeld: too many Snapshots are being deleted at once, and this one waits for an acknowledgement.
	ConditionDeletionHeld = "DeletionHeld"
	// ConditionSourceShrunk: the source has lost nearly all its files since the previous snapshot.
	ConditionSourceShrunk = "SourceShrunk"
	// ConditionHistoryConflict: the first backup found older snapshots of its identity in the repository.
	ConditionHistoryConflict = "HistoryConflict"
)

// Conditions of policies.
const (
	// ConditionRepositoryReachable: the policy's repository is Ready.
	ConditionRepositoryReachable = "RepositoryReachable"
	// ConditionRepositoriesReady is False where one of several repositories is not Ready; the message names it.
	ConditionRepositoriesReady = "RepositoriesReady"
	// ConditionHistoryAdopted: snapshots that were in the repository under the policy's identity are its own. False where
	// there are only such of a similar identity; absent where there is neither.
	ConditionHistoryAdopted = "HistoryAdopted"
	// ConditionGroupSnapshotSupported is False where the claims of a run cannot be cut at one instant.
	ConditionGroupSnapshotSupported = "GroupSnapshotSupported"
	// ConditionScratchStorageClassIgnored: verification.deep.storageClassName is set without a capacity, and has no effect.
	ConditionScratchStorageClassIgnored = "ScratchStorageClassIgnored"
	// ConditionVerified: the last verification read back what was stored. It is False where one could not, and Unknown
	// where none has come to an answer. Ready does not depend on it: backups and copies go on.
	ConditionVerified = "Verified"
)

// Conditions of schedules.
const (
	// ConditionTimezoneDefaultAmbiguous: the selected policies' repositories have different default time zones, and the
	// schedule uses UTC.
	ConditionTimezoneDefaultAmbiguous = "TimezoneDefaultAmbiguous"
	// ConditionFanoutCapped: a run would have made more than 400 Snapshots, and made none.
	ConditionFanoutCapped = "FanoutCapped"
)
