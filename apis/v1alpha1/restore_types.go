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
// +kubebuilder:validation:XValidation:rule="(has(self.snapshotRef) ? 1 : 0) + (has(self.fromPolicy) ? 1 : 0) + (has(self.identity) ? 1 : 0) == 1",message="source must have exactly one of snapshotRef, fromPolicy, identity"
type RestoreSource struct {
	// snapshotRef names a Snapshot.
	// +optional
	SnapshotRef *ObjectRef `json:"snapshotRef,omitempty"`
	// fromPolicy picks a snapshot among those of a policy.
	// +optional
	FromPolicy *FromPolicy `json:"fromPolicy,omitempty"`
	// identity picks a snapshot among those filed under a kopia identity, whoever made them. It needs spec.repository.
	// +optional
	Identity *FromIdentity `json:"identity,omitempty"`
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

// FromIdentity picks a snapshot among those filed under username@hostname:sourcePath.
type FromIdentity struct {
	// username part of the identity.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^@:\s]*$`
	Username string `json:"username"`
	// hostname part of the identity.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^@:\s]*$`
	Hostname string `json:"hostname"`
	// sourcePath part of the identity. It may be left out with snapshotID, where the identity has one path only, and with
	// target.populator, which takes the path of each claim.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
	// snapshotID names one snapshot by its kopia manifest id.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	SnapshotID string `json:"snapshotID,omitempty"`
	// asOf is the latest acceptable start time, RFC 3339.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	AsOf string `json:"asOf,omitempty"`
	// offset skips that many of the newest, counted after asOf.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Offset int64 `json:"offset,omitempty"`
}

// RestoreTarget says where to: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.pvc) ? 1 : 0) + (has(self.pvcRef) ? 1 : 0) + (has(self.populator) ? 1 : 0) + (has(self.streamExec) ? 1 : 0) == 1",message="target must have exactly one of pvc, pvcRef, populator, streamExec"
type RestoreTarget struct {
	// pvc is a claim that the Restore creates. It is yours afterwards: deleting the Restore does not delete it.
	// +optional
	PVC *TargetPVC `json:"pvc,omitempty"`
	// pvcRef is a claim that exists.
	// +optional
	PVCRef *TargetPVCRef `json:"pvcRef,omitempty"`
	// populator fills every claim whose spec.dataSourceRef names this Restore. Write populator: {}.
	// +optional
	Populator *PopulatorTarget `json:"populator,omitempty"`
	// streamExec sends one file of the snapshot to the standard input of a command in a running pod.
	// +optional
	StreamExec *StreamTarget `json:"streamExec,omitempty"`
}

// InUsePolicy is Warn or Refuse.
// +kubebuilder:validation:Enum=Warn;Refuse
type InUsePolicy string

// What to do about a claim that running pods use.
const (
	// InUseWarn restores and says so.
	InUseWarn InUsePolicy = "Warn"
	// InUseRefuse waits until no pod uses the claim.
	InUseRefuse InUsePolicy = "Refuse"
)

// TargetPVCRef names a claim that exists.
type TargetPVCRef struct {
	// name of the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the claim. It must be the Restore's own: a mover mounts claims of its own namespace only.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// ifInUse: Warn (the default) restores into a claim that running pods use and says so; Refuse waits until none does.
	// +optional
	IfInUse InUsePolicy `json:"ifInUse,omitempty"`
}

// PopulatorTarget has no settings yet.
type PopulatorTarget struct{}

// StreamTarget is a command that takes one file of the snapshot.
type StreamTarget struct {
	// fileName of the file in the snapshot: a single name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.contains('/') && self != '.' && self != '..'",message="fileName must be a single name without a slash"
	FileName string `json:"fileName"`
	// workloadExec reads the file from its standard input.
	WorkloadExec WorkloadExec `json:"workloadExec"`
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
	// onMissingSnapshot: Fail where it is left out with snapshotRef or identity, Continue with fromPolicy. Continue leaves
	// the target as it is, and only where the repository proves that there is no snapshot: an unreachable one is waited
	// for.
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
	// repository to read from, in place of the one the source names. It is needed with source.identity, and with
	// source.fromPolicy where the policy has more than one.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// subPath restores this file or folder of the snapshot in place of all of it.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SubPath string `json:"subPath,omitempty"`
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
	// credentialProjection copies a ClusterRepository's Secrets into this namespace for the run.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
}

// Restore writes one snapshot into a claim, or fills the claims that name it.
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
