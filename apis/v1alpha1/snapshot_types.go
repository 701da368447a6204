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

// SnapshotSource picks one source of the policy.
type SnapshotSource struct {
	// sourceIndex into the policy's sources.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	SourceIndex int32 `json:"sourceIndex"`
}

// SnapshotSpec asks for one snapshot of one source.
type SnapshotSpec struct {
	// policyRef names the SnapshotPolicy that supplies source and options.
	// +optional
	PolicyRef *ObjectRef `json:"policyRef,omitempty"`
	// source picks one source of the policy; needed where it has more than one.
	// +optional
	Source *SnapshotSource `json:"source,omitempty"`
	// tags are stored with the snapshot.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 63 && !k.contains(':') && !k.startsWith('kopiur') && size(self[k]) <= 256)",message="tags: keys have at most 63 characters, no colon and do not start with kopiur; values have at most 256 characters"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// description is stored with the snapshot.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// failurePolicy bounds the run.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// mover shapes the mover of this run; it is merged over the policy's.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
}

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
	// src says where the identity came from: explicit, defaults or unknown.
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
	// origin of the Snapshot: manual or scheduled.
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
	// failure of the run.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// logTail is the end of the mover's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
}

// Snapshot is one backup of one source.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshots,shortName=kopiasnap,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Origin",type=string,JSONPath=`.status.origin`
// +kubebuilder:printcolumn:name="Snapshot",type=string,JSONPath=`.status.snapshot.kopiaSnapshotID`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.snapshot.identity.sourcePath`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	// +optional
	Spec SnapshotSpec `json:"spec,omitempty"`
	// status is what Kopiur did.
	// +optional
	Status SnapshotStatus `json:"status,omitempty"`
}

// SnapshotList is a list of Snapshots.
//
// +kubebuilder:object:root=true
type SnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Snapshot `json:"items"`
}
