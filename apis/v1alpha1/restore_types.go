// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestorePhase is a Restore's state in one word.
// +kubebuilder:validation:Enum=Pending;Resolving;Restoring;Completed;Failed
type RestorePhase string

// Phases of a Restore.
const (
	RestorePending   RestorePhase = "Pending"
	RestoreResolving RestorePhase = "Resolving"
	RestoreRestoring RestorePhase = "Restoring"
	RestoreCompleted RestorePhase = "Completed"
	RestoreFailed    RestorePhase = "Failed"
)

// RestoreSource says what is restored: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.snapshotRef) ? 1 : 0) + (has(self.fromPolicy) ? 1 : 0) == 1",message="source must have exactly one of snapshotRef, fromPolicy"
type RestoreSource struct {
	// snapshotRef names a Snapshot.
	// +optional
	SnapshotRef *ObjectRef `json:"snapshotRef,omitempty"`
	// fromPolicy picks a snapshot among those of a policy.
	// +optional
	FromPolicy *FromPolicy `json:"fromPolicy,omitempty"`
}

// FromPolicy picks a snapshot among those of a policy: the newest, the newest at a time, or one before it.
type FromPolicy struct {
	// name of the SnapshotPolicy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// namespace of the SnapshotPolicy; the Restore's own where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// asOf is the latest acceptable start time, RFC 3339.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	AsOf string `json:"asOf,omitempty"`
	// offset skips that many of the newest, counted after asOf.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	Offset int64 `json:"offset,omitempty"`
	// sourcePath picks the source where the policy has more than one.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
}

// RestoreTarget says where to: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.pvc) ? 1 : 0) + (has(self.pvcRef) ? 1 : 0) == 1",message="target must have exactly one of pvc, pvcRef"
type RestoreTarget struct {
	// pvc is a claim that the Restore creates. It is yours afterwards: deleting the Restore does not delete it.
	// +optional
	PVC *TargetPVC `json:"pvc,omitempty"`
	// pvcRef is a claim that exists.
	// +optional
	PVCRef *LocalRef `json:"pvcRef,omitempty"`
}

// TargetPVC is a claim to create.
type TargetPVC struct {
	// name of the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// capacity to ask for. It is needed.
	// +optional
	Capacity Quantity `json:"capacity,omitempty"`
	// storageClassName of the claim; the cluster's default where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// accessModes of the claim, ReadWriteOnce where they are left out.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadOnlyMany;ReadWriteMany;ReadWriteOncePod
	// +listType=set
	// +optional
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
}

// OnMissingSnapshot is Fail or Continue.
// +kubebuilder:validation:Enum=Fail;Continue
type OnMissingSnapshot string

// What to do when there is nothing to restore.
const (
	OnMissingFail     OnMissingSnapshot = "Fail"
	OnMissingContinue OnMissingSnapshot = "Continue"
)

// RestorePolicy says what to do when there is nothing to restore.
type RestorePolicy struct {
	// onMissingSnapshot: Fail where it is left out with snapshotRef, Continue with fromPolicy. Continue leaves the target
	// as it is, and only where the repository proves that there is no snapshot: an unreachable one is waited for.
	// +optional
	OnMissingSnapshot OnMissingSnapshot `json:"onMissingSnapshot,omitempty"`
	// waitTimeout is how long to wait for a snapshot to appear, from the moment the repository could first be asked.
	// +optional
	WaitTimeout Duration `json:"waitTimeout,omitempty"`
}

// RestoreOptions shape the restore. What is left out has the default named beside it.
type RestoreOptions struct {
	// enableFileDeletion deletes what is in the target and not in the snapshot (false).
	// +optional
	EnableFileDeletion *bool `json:"enableFileDeletion,omitempty"`
	// ignorePermissionErrors completes although owners, modes or times could not be set; condition OwnershipApplied says
	// so (true).
	// +optional
	IgnorePermissionErrors *bool `json:"ignorePermissionErrors,omitempty"`
	// writeFilesAtomically writes beside the target and renames (true).
	// +optional
	WriteFilesAtomically *bool `json:"writeFilesAtomically,omitempty"`
	// writeSparseFiles leaves holes for blocks of zeros (false).
	// +optional
	WriteSparseFiles *bool `json:"writeSparseFiles,omitempty"`
	// skipOwners does not set owners (false).
	// +optional
	SkipOwners *bool `json:"skipOwners,omitempty"`
	// skipPermissions does not set modes (false).
	// +optional
	SkipPermissions *bool `json:"skipPermissions,omitempty"`
	// skipTimes does not set times (false).
	// +optional
	SkipTimes *bool `json:"skipTimes,omitempty"`
	// overwriteFiles replaces files that exist (true).
	// +optional
	OverwriteFiles *bool `json:"overwriteFiles,omitempty"`
	// overwriteDirectories restores into directories that exist (true).
	// +optional
	OverwriteDirectories *bool `json:"overwriteDirectories,omitempty"`
	// overwriteSymlinks replaces symbolic links that exist (true).
	// +optional
	OverwriteSymlinks *bool `json:"overwriteSymlinks,omitempty"`
	// ignoreErrors goes on after an entry that could not be written, and counts it (false).
	// +optional
	IgnoreErrors *bool `json:"ignoreErrors,omitempty"`
	// skipExisting leaves out files whose size and time are already those of the snapshot (false).
	// +optional
	SkipExisting *bool `json:"skipExisting,omitempty"`
	// parallel files at a time (8).
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	Parallel *int32 `json:"parallel,omitempty"`
}

// RestoreSpec asks for one restore.
type RestoreSpec struct {
	// source says what is restored.
	Source RestoreSource `json:"source"`
	// target says where to.
	Target RestoreTarget `json:"target"`
	// repository to read from, in place of the one the source names.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// policy says what to do when there is nothing to restore.
	// +optional
	Policy *RestorePolicy `json:"policy,omitempty"`
	// options shape the restore.
	// +optional
	Options *RestoreOptions `json:"options,omitempty"`
	// mover shapes the mover.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// failurePolicy bounds the run.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
}

// Resolutions of a Restore.
const (
	ResolutionSnapshot   = "Snapshot"
	ResolutionNoSnapshot = "NoSnapshot"
)

// RestoreResolved is the decision which snapshot is meant, taken once.
type RestoreResolved struct {
	// resolution is Snapshot or NoSnapshot.
	// +kubebuilder:validation:Enum=Snapshot;NoSnapshot
	// +optional
	Resolution string `json:"resolution,omitempty"`
	// kopiaSnapshotID of the snapshot.
	// +optional
	KopiaSnapshotID string `json:"kopiaSnapshotID,omitempty"`
	// startTime of the snapshot, by which it is found again when its id changes.
	// +optional
	StartTime string `json:"startTime,omitempty"`
	// identity of the snapshot.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
	// repository that holds it.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// snapshotRef where the source named one.
	// +optional
	SnapshotRef *ObjectRef `json:"snapshotRef,omitempty"`
	// pinnedAt is when the decision was taken.
	// +optional
	PinnedAt string `json:"pinnedAt,omitempty"`
}

// RestoreTargetStatus names the claim that is restored into.
type RestoreTargetStatus struct {
	// pvcRef of the claim.
	// +optional
	PVCRef *LocalRef `json:"pvcRef,omitempty"`
}

// RestoreProgress is how far a restore has come.
type RestoreProgress struct {
	Progress `json:",inline"`
	// bytesRestored so far.
	// +optional
	BytesRestored int64 `json:"bytesRestored,omitempty"`
	// filesRestored so far.
	// +optional
	FilesRestored int64 `json:"filesRestored,omitempty"`
}

// OwnershipStatus counts entries whose owner, mode and times were set, and those where they could not be.
type OwnershipStatus struct {
	// applied entries.
	Applied int64 `json:"applied"`
	// failed entries.
	Failed int64 `json:"failed"`
	// paths of the first that failed.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Paths []EntryFault `json:"paths,omitempty"`
}

// RestoreJob names the mover Job of the present attempt. It is written before the Job is made, so that a controller that
// ends in between makes the same Job again and never a second one.
type RestoreJob struct {
	JobStatus `json:",inline"`
	// generation of the spec that the attempt was made from.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// fruitless counts the attempts in a row that brought no answer: the repository could not be asked, or the result was
	// lost with its pod.
	// +optional
	Fruitless int32 `json:"fruitless,omitempty"`
	// endedAt is when the end of the attempt was recorded; absent while it runs.
	// +optional
	EndedAt string `json:"endedAt,omitempty"`
}

// RestoreStatus is what Kopiur did.
type RestoreStatus struct {
	// conditions of the Restore.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// phase in one word.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// sourceKind is snapshotRef or fromPolicy.
	// +optional
	SourceKind string `json:"sourceKind,omitempty"`
	// resolved snapshot, decided once.
	// +optional
	Resolved *RestoreResolved `json:"resolved,omitempty"`
	// target claim.
	// +optional
	Target *RestoreTargetStatus `json:"target,omitempty"`
	// progress of the running mover.
	// +optional
	Progress *RestoreProgress `json:"progress,omitempty"`
	// ownership result.
	// +optional
	Ownership *OwnershipStatus `json:"ownership,omitempty"`
	// timing of the run.
	// +optional
	Timing *Timing `json:"timing,omitempty"`
	// waitStartedAt is when the repository could first be asked.
	// +optional
	WaitStartedAt string `json:"waitStartedAt,omitempty"`
	// job of the present attempt, or of the last one.
	// +optional
	Job *RestoreJob `json:"job,omitempty"`
	// failure of the run.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// resolvedCredentialVersion is the version of the Secrets and CA bundle that the last attempt used.
	// +optional
	ResolvedCredentialVersion string `json:"resolvedCredentialVersion,omitempty"`
	// logTail is the end of the mover's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
}

// Restore writes one snapshot into a claim.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=restores,shortName=kopiarestore,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.sourceKind`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Restore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec RestoreSpec `json:"spec"`
	// status is what Kopiur did.
	// +optional
	Status RestoreStatus `json:"status,omitempty"`
}

// RestoreList is a list of Restores.
//
// +kubebuilder:object:root=true
type RestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Restore `json:"items"`
}
