// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicationPhase is a replication's state in one word.
// +kubebuilder:validation:Enum=Pending;Replicating;Succeeded;Failed;Suspended
type ReplicationPhase string

// Phases of a replication.
const (
	ReplicationPending     ReplicationPhase = "Pending"
	ReplicationReplicating ReplicationPhase = "Replicating"
	ReplicationSucceeded   ReplicationPhase = "Succeeded"
	ReplicationFailed      ReplicationPhase = "Failed"
	ReplicationSuspended   ReplicationPhase = "Suspended"
)

// BlobSync shapes the copy of a store.
type BlobSync struct {
	// parallel copies at a time; kopia's default where it is left out.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	Parallel *int32 `json:"parallel,omitempty"`
	// deleteExtra deletes what the destination has and the source has not. Without it the copy only grows.
	// +optional
	DeleteExtra bool `json:"deleteExtra,omitempty"`
	// mustExist fails where the destination holds no copy yet, in place of making one.
	// +optional
	MustExist bool `json:"mustExist,omitempty"`
	// times copies the blobs' times where the store can; kopia's default is true.
	// +optional
	Times *bool `json:"times,omitempty"`
	// update copies a blob again where the source has a newer one; kopia's default is true.
	// +optional
	Update *bool `json:"update,omitempty"`
	// maxDownloadSpeedBytesPerSecond limits reads from the source; 0 does not.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxDownloadSpeedBytesPerSecond int64 `json:"maxDownloadSpeedBytesPerSecond,omitempty"`
	// maxUploadSpeedBytesPerSecond limits writes to the destination; 0 does not.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxUploadSpeedBytesPerSecond int64 `json:"maxUploadSpeedBytesPerSecond,omitempty"`
}

// ReplicationVerify proves on a schedule that the copy restores.
type ReplicationVerify struct {
	// schedule of the proof.
	Schedule CronSpec `json:"schedule"`
	// verifyFilesPercent of the files are read completely; none where it is left out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	VerifyFilesPercent int32 `json:"verifyFilesPercent,omitempty"`
}

// RepositoryReplicationSpec says which repository is mirrored, and where to.
type RepositoryReplicationSpec struct {
	// sourceRef names the repository to copy.
	SourceRef RepositoryRef `json:"sourceRef"`
	// destination that takes the copy. The copy has the source's password and format. Its Secret lies in this namespace.
	Destination Backend `json:"destination"`
	// schedule of the copies.
	Schedule CronSpec `json:"schedule"`
	// mover shapes the mover.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// suspend stops new copies and proofs.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// sync shapes the copy.
	// +optional
	Sync *BlobSync `json:"sync,omitempty"`
	// verify proves on a schedule that the copy restores.
	// +optional
	Verify *ReplicationVerify `json:"verify,omitempty"`
}

// RepositoryReplicationStatus is what Kopiur did.
type RepositoryReplicationStatus struct {
	// conditions of the replication.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// phase in one word.
	// +optional
	Phase ReplicationPhase `json:"phase,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// destinationBackend is the kind of the destination: s3, filesystem, …
	// +optional
	DestinationBackend string `json:"destinationBackend,omitempty"`
	// lastReplicated is the end of the last successful copy.
	// +optional
	LastReplicated string `json:"lastReplicated,omitempty"`
	// lastReplicatedBytes that were copied then.
	// +optional
	LastReplicatedBytes *int64 `json:"lastReplicatedBytes,omitempty"`
	// lastReplicatedBlobs that were copied then.
	// +optional
	LastReplicatedBlobs *int64 `json:"lastReplicatedBlobs,omitempty"`
	// lastVerified is the end of the last successful proof.
	// +optional
	LastVerified string `json:"lastVerified,omitempty"`
	// verification tells of the proofs.
	// +optional
	Verification *VerificationState `json:"verification,omitempty"`
	// nextScheduledAt is when the next copy is due.
	// +optional
	NextScheduledAt string `json:"nextScheduledAt,omitempty"`
	// schedule that nextScheduledAt was computed by.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// blobsTotal and bytesTotal is what the source held at the last successful copy; the destination holds it too.
	// +optional
	BlobsTotal *int64 `json:"blobsTotal,omitempty"`
	// bytesTotal belongs to blobsTotal.
	// +optional
	BytesTotal *int64 `json:"bytesTotal,omitempty"`
	// blobsExtra were at the destination only then, and were left there.
	// +optional
	BlobsExtra *int64 `json:"blobsExtra,omitempty"`
	// progress of the mover that copies; absent while none does. Files are blobs here.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// consecutiveFailures since the last successful copy.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// resolvedCredentialVersion is opaque: a copy that failed for good is tried again when it changes.
	// +optional
	ResolvedCredentialVersion string `json:"resolvedCredentialVersion,omitempty"`
	// manualRun that was asked for last.
	// +optional
	ManualRun *ManualRun `json:"manualRun,omitempty"`
	// job of the present run, or of the last one.
	// +optional
	Job *JobStatus `json:"job,omitempty"`
	// failure of the last run; absent after a success.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// logTail is the end of the last mover's log.
	// +optional
	LogTail string `json:"logTail,omitempty"`
}

// RepositoryReplication copies a whole repository, blob by blob, to another store.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repositoryreplications,shortName=kopiarepl,categories=kopiur
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.sourceRef.name`
// +kubebuilder:printcolumn:name="Destination",type=string,JSONPath=`.status.destinationBackend`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Last",type=string,JSONPath=`.status.lastReplicated`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
type RepositoryReplication struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec RepositoryReplicationSpec `json:"spec"`
	// status is what Kopiur did.
	// +optional
	Status RepositoryReplicationStatus `json:"status,omitempty"`
}

// RepositoryReplicationList is a list of RepositoryReplications.
//
// +kubebuilder:object:root=true
type RepositoryReplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepositoryReplication `json:"items"`
}
