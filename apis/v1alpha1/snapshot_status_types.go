// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SnapshotPhase is a Snapshot's state in one word.
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Deleting;Discovered;Unchanged
type SnapshotPhase string

// Phases of a Snapshot.
const (
	SnapshotPending    SnapshotPhase = "Pending"
	SnapshotRunning    SnapshotPhase = "Running"
	SnapshotSucceeded  SnapshotPhase = "Succeeded"
	SnapshotFailed     SnapshotPhase = "Failed"
	SnapshotDeleting   SnapshotPhase = "Deleting"
	SnapshotDiscovered SnapshotPhase = "Discovered"
	SnapshotUnchanged  SnapshotPhase = "Unchanged"
)

// StoredSnapshot names what was stored.
type StoredSnapshot struct {
	// kopiaSnapshotID is the id of the manifest.
	KopiaSnapshotID string `json:"kopiaSnapshotID"`
	// identity the snapshot is filed under.
	Identity Identity `json:"identity"`
	// description stored with it.
	// +optional
	Description string `json:"description,omitempty"`
}

// SnapshotStats count what was stored.
type SnapshotStats struct {
	// sizeBytes of the source.
	SizeBytes int64 `json:"sizeBytes"`
	// files in the snapshot.
	// +optional
	Files int64 `json:"files,omitempty"`
	// bytesNew that had to be read.
	// +optional
	BytesNew int64 `json:"bytesNew,omitempty"`
	// bytesUploaded to the store, after deduplication and compression.
	// +optional
	BytesUploaded int64 `json:"bytesUploaded,omitempty"`
	// filesNew since the previous snapshot.
	// +optional
	FilesNew int64 `json:"filesNew,omitempty"`
	// filesModified since the previous snapshot.
	// +optional
	FilesModified int64 `json:"filesModified,omitempty"`
	// filesUnchanged since the previous snapshot.
	// +optional
	FilesUnchanged int64 `json:"filesUnchanged,omitempty"`
	// filesFailed are missing from the snapshot because they could not be read.
	// +optional
	FilesFailed int64 `json:"filesFailed,omitempty"`
}

// SnapshotResolved is what the references led to when the run began.
type SnapshotResolved struct {
	// repository that was used.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// credentialProjection that the policy asked for.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
	// deletionPolicy is the policy's defaultDeletionPolicy. It counts where a namespace goes with the policy in it.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// sources that were read.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Sources []ResolvedSource `json:"sources,omitempty"`
}

// Recorded is whom the mover ran as, for a restore that wants the same.
type Recorded struct {
	// schema of this record.
	Schema int32 `json:"schema"`
	// src says where the identity came from: inherited, explicit, defaults or unknown.
	Src string `json:"src"`
	// uid of the mover.
	// +optional
	UID *int64 `json:"uid,omitempty"`
	// gid of the mover.
	// +optional
	GID *int64 `json:"gid,omitempty"`
	// fsGroup of the mover's pod.
	// +optional
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// Staged names the objects that a staged source consists of. It is written before the Job and reused by every retry.
type Staged struct {
	// copyMethod that was used.
	CopyMethod CopyMethod `json:"copyMethod"`
	// volumeSnapshotName of the VolumeSnapshot.
	// +optional
	VolumeSnapshotName string `json:"volumeSnapshotName,omitempty"`
	// volumeGroupSnapshotName of the group that the VolumeSnapshot belongs to.
	// +optional
	VolumeGroupSnapshotName string `json:"volumeGroupSnapshotName,omitempty"`
	// pvcName of the staged claim.
	// +optional
	PVCName string `json:"pvcName,omitempty"`
	// ready is true once the mover may use the staged claim.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// storageClassName of the staged claim.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// stagingTimeoutSeconds of each step; 0 waits for ever.
	// +optional
	StagingTimeoutSeconds int64 `json:"stagingTimeoutSeconds,omitempty"`
	// waitForFirstConsumer is true where the staged claim is provisioned only once the mover's pod is scheduled.
	// +optional
	WaitForFirstConsumer bool `json:"waitForFirstConsumer,omitempty"`
}

// UnstoredStatus counts what is not in the snapshot although it is in the source.
type UnstoredStatus struct {
	// unreadable entries.
	// +optional
	Unreadable int64 `json:"unreadable,omitempty"`
	// ignored entries: unreadable, and tolerated by the policy.
	// +optional
	Ignored int64 `json:"ignored,omitempty"`
	// unsupportedNames that are not UTF-8.
	// +optional
	UnsupportedNames int64 `json:"unsupportedNames,omitempty"`
	// unsupported counts by kind: fifo, socket, device, xattr, acl, hardlink.
	// +optional
	Unsupported map[string]int64 `json:"unsupported,omitempty"`
	// paths of the first of them.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Paths []EntryFault `json:"paths,omitempty"`
}

// HooksStatus says which hooks have run. A list that was started runs on from here after a restart.
type HooksStatus struct {
	// preStartedAt is when the first hook before the snapshot was started.
	// +optional
	PreStartedAt string `json:"preStartedAt,omitempty"`
	// preCompletedAt is when the last hook before the snapshot had ended.
	// +optional
	PreCompletedAt string `json:"preCompletedAt,omitempty"`
	// postDone counts the hooks after the snapshot that have ended.
	// +optional
	PostDone int32 `json:"postDone,omitempty"`
	// postCompletedAt is when the last hook after the snapshot had ended.
	// +optional
	PostCompletedAt string `json:"postCompletedAt,omitempty"`
}

// CleanupStatus says what was tidied up after a run.
type CleanupStatus struct {
	// credsReapedAt is when the copied Secrets were removed.
	// +optional
	CredsReapedAt string `json:"credsReapedAt,omitempty"`
}

// CopiedFrom names the snapshot that a replicated one is a copy of.
type CopiedFrom struct {
	// repository of the original.
	Repository RepositoryRef `json:"repository"`
	// sourceManifestId of the original when it was copied.
	SourceManifestID string `json:"sourceManifestId"`
	// startTime of the original.
	StartTime string `json:"startTime"`
}

// DeletionStatus says how often deleting the stored data has failed.
type DeletionStatus struct {
	// job that failed last. It is removed once all its Snapshots have recorded it.
	Job string `json:"job"`
	// jobUID tells it from later ones of the same name.
	JobUID string `json:"jobUID"`
	// attempts that have failed.
	Attempts int32 `json:"attempts"`
	// failedAt is when the last failure was recorded. The next attempt is made 2 minutes later, then 4, 8, 16, then every
	// 30 minutes.
	FailedAt string `json:"failedAt"`
	// failure of the last attempt.
	Failure Failure `json:"failure"`
}

// SnapshotStatus is what Kopiur did.
type SnapshotStatus struct {
	// conditions of the Snapshot.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// phase in one word.
	// +optional
	Phase SnapshotPhase `json:"phase,omitempty"`
	// origin of the Snapshot: scheduled, manual, discovered, adopted or replicated.
	// +optional
	Origin string `json:"origin,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// snapshot that was stored.
	// +optional
	Snapshot *StoredSnapshot `json:"snapshot,omitempty"`
	// stats of the run.
	// +optional
	Stats *SnapshotStats `json:"stats,omitempty"`
	// unstored counts what is not in the snapshot.
	// +optional
	Unstored *UnstoredStatus `json:"unstored,omitempty"`
	// timing of the run.
	// +optional
	Timing *Timing `json:"timing,omitempty"`
	// progress of the running mover.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// job of the run.
	// +optional
	Job *JobStatus `json:"job,omitempty"`
	// resolved references.
	// +optional
	Resolved *SnapshotResolved `json:"resolved,omitempty"`
	// recorded identity of the mover.
	// +optional
	Recorded *Recorded `json:"recorded,omitempty"`
	// staged source.
	// +optional
	Staged *Staged `json:"staged,omitempty"`
	// hooks that have run.
	// +optional
	Hooks *HooksStatus `json:"hooks,omitempty"`
	// preflightSince is when the run began to wait for its preflight checks.
	// +optional
	PreflightSince string `json:"preflightSince,omitempty"`
	// pinned is whether the snapshot is pinned in the repository.
	// +optional
	Pinned *bool `json:"pinned,omitempty"`
	// cleanup after the run.
	// +optional
	Cleanup *CleanupStatus `json:"cleanup,omitempty"`
	// copiedFrom is the original of a replicated snapshot.
	// +optional
	CopiedFrom *CopiedFrom `json:"copiedFrom,omitempty"`
	// failure of the run.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// deletion of the stored data, where it has failed.
	// +optional
	Deletion *DeletionStatus `json:"deletion,omitempty"`
	// logTail is the end of the mover's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
}
