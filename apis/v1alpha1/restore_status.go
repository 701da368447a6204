// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RestoreResolution is what a Restore was decided to restore.
// +kubebuilder:validation:Enum=Snapshot;NoSnapshot
type RestoreResolution string

// Resolutions of a Restore.
const (
	ResolutionSnapshot   RestoreResolution = "Snapshot"
	ResolutionNoSnapshot RestoreResolution = "NoSnapshot"
)

// RestoreResolved is the decision which snapshot is meant, taken once.
type RestoreResolved struct {
	// resolution is Snapshot or NoSnapshot.
	// +optional
	Resolution RestoreResolution `json:"resolution,omitempty"`
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
	// pvcPrime is the claim that a populator restores into before the volume is handed over.
	// +optional
	PVCPrime string `json:"pvcPrime,omitempty"`
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

// ClaimPhase is the state of one claim of a populator in one word.
// +kubebuilder:validation:Enum=Pending;Resolving;Restoring;Binding;Populated;Failed
type ClaimPhase string

// Phases of a claim.
const (
	ClaimPending   ClaimPhase = "Pending"
	ClaimResolving ClaimPhase = "Resolving"
	ClaimRestoring ClaimPhase = "Restoring"
	// ClaimBinding: the volume has its data and is being handed over to the claim.
	ClaimBinding ClaimPhase = "Binding"
	// ClaimPopulated: the claim is bound. It is never written again.
	ClaimPopulated ClaimPhase = "Populated"
	ClaimFailed    ClaimPhase = "Failed"
)

// RestoreClaim is what a populator did for one claim.
type RestoreClaim struct {
	// phase in one word.
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// reason why the claim is in this phase, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says the same in a sentence, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`
	// uid of the claim: another one of the same name is filled anew.
	// +optional
	UID string `json:"uid,omitempty"`
	// sourcePath that the claim's snapshot is filed under.
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
	// resolved snapshot of the claim, decided once.
	// +optional
	Resolved *RestoreResolved `json:"resolved,omitempty"`
	// pvcPrime is the claim that is restored into before the volume is handed over.
	// +optional
	PVCPrime string `json:"pvcPrime,omitempty"`
	// volume is the PersistentVolume that is handed over.
	// +optional
	Volume string `json:"volume,omitempty"`
	// job of the present attempt, or of the last one.
	// +optional
	Job *RestoreJob `json:"job,omitempty"`
	// progress of the running mover.
	// +optional
	Progress *RestoreProgress `json:"progress,omitempty"`
	// ownership result.
	// +optional
	Ownership *OwnershipStatus `json:"ownership,omitempty"`
	// timing of the run.
	// +optional
	Timing *Timing `json:"timing,omitempty"`
	// failure of the run.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// waitStartedAt is when the repository could first be asked for this claim.
	// +optional
	WaitStartedAt string `json:"waitStartedAt,omitempty"`
	// resolvedCredentialVersion is the version of the Secrets and CA bundle that the last attempt used.
	// +optional
	ResolvedCredentialVersion string `json:"resolvedCredentialVersion,omitempty"`
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
	// sourceKind is snapshotRef, fromPolicy or identity.
	// +optional
	SourceKind string `json:"sourceKind,omitempty"`
	// resolved snapshot, decided once.
	// +optional
	Resolved *RestoreResolved `json:"resolved,omitempty"`
	// target claim.
	// +optional
	Target *RestoreTargetStatus `json:"target,omitempty"`
	// claims of a populator by their names.
	// +kubebuilder:validation:MaxProperties=400
	// +optional
	Claims map[string]RestoreClaim `json:"claims,omitempty"`
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
