// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaintenanceOwnership says who owns the maintenance of a repository. Only one may run at a time, wherever it runs.
type MaintenanceOwnership struct {
	// owner is the name that this Maintenance registers in the repository, such as kopiur/<namespace>/<repository>.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Owner string `json:"owner"`
	// ownerAliases are further names that mean this Maintenance, such as that of a cluster it moved from.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	OwnerAliases []string `json:"ownerAliases,omitempty"`
	// takeoverPolicy says what to do where another owner is registered: Never leaves the maintenance to it,
	// PromptCondition asks you in a condition, Force takes it over.
	// +kubebuilder:default=Never
	// +optional
	TakeoverPolicy TakeoverPolicy `json:"takeoverPolicy,omitempty"`
}

// MaintenanceSpec says when and how a repository is maintained.
type MaintenanceSpec struct {
	// repository to maintain.
	Repository RepositoryRef `json:"repository"`
	// schedule of quick and full maintenance.
	Schedule MaintenanceSchedule `json:"schedule"`
	// ownership of the repository's maintenance.
	Ownership MaintenanceOwnership `json:"ownership"`
	// mover shapes the mover.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// failurePolicy bounds each run.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// credentialProjection copies a ClusterRepository's Secrets into this namespace for each run.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
}

// MaintenanceOwner is who is registered in the repository.
type MaintenanceOwner struct {
	// owner as the repository has it.
	// +optional
	Owner string `json:"owner,omitempty"`
	// claimedAt is when this Maintenance became the owner; absent while it is not.
	// +optional
	ClaimedAt string `json:"claimedAt,omitempty"`
}

// MaintenanceRunStatus is what one kind of maintenance did.
type MaintenanceRunStatus struct {
	// lastRunAt is the end of the last run that maintained the repository.
	// +optional
	LastRunAt string `json:"lastRunAt,omitempty"`
	// nextScheduledAt is when the next run is due, its jitter included.
	// +optional
	NextScheduledAt string `json:"nextScheduledAt,omitempty"`
	// schedule that nextScheduledAt follows from: cron, time zone and jitter.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// lastHandledAt is the newest due time that was dealt with, be it by leaving it to another owner.
	// +optional
	LastHandledAt string `json:"lastHandledAt,omitempty"`
	// consecutiveFailures in the present row.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// lastContentReclaimedBytes is what the last run deleted from the store.
	// +optional
	LastContentReclaimedBytes *int64 `json:"lastContentReclaimedBytes,omitempty"`
	// reclaimableAt is when what is deleted now leaves the store at the earliest; full maintenance only.
	// +optional
	ReclaimableAt string `json:"reclaimableAt,omitempty"`
	// message about the last run for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// MaintenanceMode is quick or full.
// +kubebuilder:validation:Enum=quick;full
type MaintenanceMode string

// Modes of maintenance, as the annotation run-mode has them too.
const (
	MaintenanceQuick MaintenanceMode = "quick"
	MaintenanceFull  MaintenanceMode = "full"
)

// RunPhase is the state of a run that somebody asked for.
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed
type RunPhase string

// Phases of a run.
const (
	RunPending   RunPhase = "Pending"
	RunRunning   RunPhase = "Running"
	RunSucceeded RunPhase = "Succeeded"
	RunFailed    RunPhase = "Failed"
)

// ManualRun is a run that the annotation run-requested asked for.
type ManualRun struct {
	// requestedAt is the value of the annotation.
	// +optional
	RequestedAt string `json:"requestedAt,omitempty"`
	// phase in one word.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`
	// completedAt is when it ended.
	// +optional
	CompletedAt string `json:"completedAt,omitempty"`
}

// MaintenanceManualRun is a run that the annotations run-requested and run-mode asked for.
type MaintenanceManualRun struct {
	ManualRun `json:",inline"`
	// mode of the run.
	// +optional
	Mode MaintenanceMode `json:"mode,omitempty"`
}

// MaintenanceStatus is what Kopiur did.
type MaintenanceStatus struct {
	// conditions of the Maintenance.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ownership as the repository has it.
	// +optional
	Ownership *MaintenanceOwner `json:"ownership,omitempty"`
	// quick maintenance.
	// +optional
	Quick *MaintenanceRunStatus `json:"quick,omitempty"`
	// full maintenance.
	// +optional
	Full *MaintenanceRunStatus `json:"full,omitempty"`
	// manualRun that was asked for last.
	// +optional
	ManualRun *MaintenanceManualRun `json:"manualRun,omitempty"`
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

// Maintenance keeps a repository small and fast.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=maintenances,shortName=kopiamaint,categories=kopiur
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository.name`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.status.ownership.owner`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
type Maintenance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec MaintenanceSpec `json:"spec"`
	// status is what Kopiur did.
	// +optional
	Status MaintenanceStatus `json:"status,omitempty"`
}

// MaintenanceList is a list of Maintenances.
//
// +kubebuilder:object:root=true
type MaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Maintenance `json:"items"`
}
