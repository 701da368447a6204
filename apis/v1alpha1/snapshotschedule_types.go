// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConcurrencyPolicy says what happens when a run is due and the one before has not ended.
// +kubebuilder:validation:Enum=Forbid;Allow;Replace
type ConcurrencyPolicy string

// Concurrency policies.
const (
	// ConcurrencyForbid leaves the new run out.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyAllow starts it beside the other.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyReplace deletes the other and starts it.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// ScheduleSpec says when Snapshots are made.
type ScheduleSpec struct {
	CronSpec `json:",inline"`
	// runOnCreate makes the first Snapshot at once.
	// +kubebuilder:default=false
	// +optional
	RunOnCreate bool `json:"runOnCreate,omitempty"`
	// suspend makes no further Snapshots. Those that run go on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// concurrencyPolicy Forbid leaves a run out while the one before has not ended; Allow starts it all the same; Replace
	// deletes the one before. One that waits and has not begun stands for all that come due meanwhile, whatever this says.
	// +kubebuilder:default=Forbid
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// startingDeadlineSeconds is how late a run may start before it is left out; without it, however late. Less than 10
	// counts as 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
}

// ScheduleDeletion says what becomes of the Snapshots of a schedule that is deleted.
type ScheduleDeletion struct {
	// onScheduleDelete Retain keeps the data of the schedule's Snapshots; Delete deletes it with them.
	// +kubebuilder:default=Retain
	// +optional
	OnScheduleDelete CascadePolicy `json:"onScheduleDelete,omitempty"`
}

// SnapshotScheduleSpec says which policies run, and when.
// +kubebuilder:validation:XValidation:rule="(has(self.policyRef) ? 1 : 0) + (has(self.policySelector) ? 1 : 0) == 1",message="spec must have exactly one of policyRef, policySelector"
type SnapshotScheduleSpec struct {
	// policyRef names the SnapshotPolicy to run. It is in the schedule's own namespace.
	// +optional
	PolicyRef *PolicyRef `json:"policyRef,omitempty"`
	// policySelector over the labels of the SnapshotPolicies of the schedule's namespace; an empty one selects all of them.
	// +optional
	PolicySelector *metav1.LabelSelector `json:"policySelector,omitempty"`
	// schedule says when.
	Schedule ScheduleSpec `json:"schedule"`
	// failedJobsHistoryLimit is how many failed Snapshots are kept. Successful ones are kept as the policy's retention says.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
	// deletion says what happens when the schedule is deleted.
	// +kubebuilder:default={}
	// +optional
	Deletion *ScheduleDeletion `json:"deletion,omitempty"`
}

// ScheduleSlot is one run of a schedule.
type ScheduleSlot struct {
	// at is the time of the run: the one that cron names, later by what jitter adds, or when a missed run is made up for.
	// +optional
	At string `json:"at,omitempty"`
	// slot is the time that cron names. The run's Snapshots are named after it, so that no run is made twice.
	// +optional
	Slot string `json:"slot,omitempty"`
	// scheduledAt is an older name of at. It is read and never written.
	// +optional
	ScheduledAt string `json:"scheduledAt,omitempty"`
	// timezone in which the time was computed.
	// +optional
	Timezone string `json:"timezone,omitempty"`
	// jitter with which it was computed.
	// +optional
	Jitter string `json:"jitter,omitempty"`
	// snapshotRef is the Snapshot that was made; absent where there are several.
	// +optional
	SnapshotRef *LocalRef `json:"snapshotRef,omitempty"`
}

// SnapshotScheduleStatus is what Kopiur found.
type SnapshotScheduleStatus struct {
	// conditions of the schedule.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastSchedule is the last run.
	// +optional
	LastSchedule *ScheduleSlot `json:"lastSchedule,omitempty"`
	// nextSchedule is the next run.
	// +optional
	NextSchedule *ScheduleSlot `json:"nextSchedule,omitempty"`
	// lastSuccessfulSchedule is the last run all of whose Snapshots succeeded.
	// +optional
	LastSuccessfulSchedule *ScheduleSlot `json:"lastSuccessfulSchedule,omitempty"`
	// lastFailedSchedule is the last run of whose Snapshots one failed.
	// +optional
	LastFailedSchedule *ScheduleSlot `json:"lastFailedSchedule,omitempty"`
	// consecutiveFailures of runs since the last successful one.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
}

// SnapshotSchedule makes Snapshots at the times that it names.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshotschedules,shortName=kopiasched,categories=kopiur
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.spec.policyRef.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.schedule.suspend`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
type SnapshotSchedule struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec SnapshotScheduleSpec `json:"spec"`
	// status is what Kopiur found.
	// +optional
	Status SnapshotScheduleStatus `json:"status,omitempty"`
}

// SnapshotScheduleList is a list of schedules.
//
// +kubebuilder:object:root=true
type SnapshotScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SnapshotSchedule `json:"items"`
}
