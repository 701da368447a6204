// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IdentityPattern matches identities: what is left out matches everything. In each field * stands for any run of
// characters and ? for one, and the pattern is that of the whole value.
// +kubebuilder:validation:XValidation:rule="(has(self.username) ? size(self.username) : 0) + (has(self.hostname) ? size(self.hostname) : 0) + (has(self.sourcePath) ? size(self.sourcePath) : 0) > 0",message="set at least one of username, hostname, sourcePath"
type IdentityPattern struct {
	// username part of the identity.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Username string `json:"username,omitempty"`
	// hostname part of the identity.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// sourcePath part of the identity; * matches slashes too.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
}

// IdentitySelection says whose snapshots are copied.
type IdentitySelection struct {
	// include the identities that one of these matches; all where the list is empty.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Include []IdentityPattern `json:"include,omitempty"`
	// exclude those that one of these matches, included or not.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Exclude []IdentityPattern `json:"exclude,omitempty"`
}

// SnapshotSelection says which snapshots are copied.
type SnapshotSelection struct {
	// identities whose snapshots are copied.
	// +optional
	Identities *IdentitySelection `json:"identities,omitempty"`
	// latestOnly copies the newest snapshot of each source, not its history.
	// +optional
	LatestOnly bool `json:"latestOnly,omitempty"`
}

// Migrate shapes the copy.
type Migrate struct {
	// parallel snapshots at a time; kopia's default where it is left out.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	Parallel *int32 `json:"parallel,omitempty"`
	// policies: none leaves kopia's own policies where they are, copy adds those that the destination lacks, copyOverwrite
	// replaces its own too.
	// +kubebuilder:default=none
	// +optional
	Policies MigratePolicies `json:"policies,omitempty"`
	// throttle limits the traffic.
	// +optional
	Throttle *MigrateThrottle `json:"throttle,omitempty"`
}

// ReplicationPruning says which copies are deleted: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.none) ? 1 : 0) + (has(self.mirrorSource) ? 1 : 0) + (has(self.retention) ? 1 : 0) == 1",message="pruning must have exactly one of none, mirrorSource, retention"
type ReplicationPruning struct {
	// none keeps every copy. Write none: {}.
	// +optional
	None *PruneNone `json:"none,omitempty"`
	// mirrorSource deletes copies whose original is gone. Write mirrorSource: {}.
	// +optional
	MirrorSource *PruneMirrorSource `json:"mirrorSource,omitempty"`
	// retention keeps copies by a rule of their own.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
}

// PruneNone has no settings yet.
type PruneNone struct{}

// PruneMirrorSource has no settings yet.
type PruneMirrorSource struct{}

// SnapshotReplicationSpec says which snapshots are copied, and where to.
type SnapshotReplicationSpec struct {
	// sourceRef names the repository to copy from.
	SourceRef RepositoryRef `json:"sourceRef"`
	// destinationRef names the repository to copy to. It has a password and a format of its own.
	DestinationRef RepositoryRef `json:"destinationRef"`
	// schedule of the copies.
	Schedule CronSpec `json:"schedule"`
	// selection says which snapshots are copied; all where it is left out.
	// +optional
	Selection *SnapshotSelection `json:"selection,omitempty"`
	// migrate shapes the copy.
	// +optional
	Migrate *Migrate `json:"migrate,omitempty"`
	// pruning says which copies are deleted; none where it is left out.
	// +optional
	Pruning *ReplicationPruning `json:"pruning,omitempty"`
	// mover shapes the mover.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// credentialProjection copies the Secrets of ClusterRepositories into this namespace for each run.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
	// suspend stops new copies.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// SnapshotReplicationRun counts what the last run did.
type SnapshotReplicationRun struct {
	// identitiesSelected by spec.selection.
	// +optional
	IdentitiesSelected int64 `json:"identitiesSelected,omitempty"`
	// snapshotsCopied by this run.
	// +optional
	SnapshotsCopied int64 `json:"snapshotsCopied,omitempty"`
	// alreadyPresent in the destination.
	// +optional
	AlreadyPresent int64 `json:"alreadyPresent,omitempty"`
	// failed to be copied.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// pruned copies.
	// +optional
	Pruned int64 `json:"pruned,omitempty"`
}

// ReplicationTrigger is schedule or manual.
// +kubebuilder:validation:Enum=schedule;manual
type ReplicationTrigger string

// What starts a run.
const (
	TriggerSchedule ReplicationTrigger = "schedule"
	TriggerManual   ReplicationTrigger = "manual"
)

// SnapshotReplicationTurn is one run. It may take several Jobs: each tells of as many copies as its log holds.
type SnapshotReplicationTurn struct {
	// slot is the time that the run was due, or asked for.
	Slot string `json:"slot"`
	// trigger of the run.
	Trigger ReplicationTrigger `json:"trigger"`
	// attempt tells runs of one slot apart: it counts the failures before.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// part is the number of its Job.
	Part int32 `json:"part"`
	// cursor is where this part goes on.
	// +optional
	Cursor string `json:"cursor,omitempty"`
	// startedAt is when the run began.
	// +optional
	StartedAt string `json:"startedAt,omitempty"`
}

// SnapshotReplicationStatus is what Kopiur did.
type SnapshotReplicationStatus struct {
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
	// lastReplicated is the end of the last successful run.
	// +optional
	LastReplicated string `json:"lastReplicated,omitempty"`
	// lastRun in numbers.
	// +optional
	LastRun *SnapshotReplicationRun `json:"lastRun,omitempty"`
	// nextScheduledAt is when the next run is due.
	// +optional
	NextScheduledAt string `json:"nextScheduledAt,omitempty"`
	// schedule that nextScheduledAt was computed by.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// run that is under way.
	// +optional
	Run *SnapshotReplicationTurn `json:"run,omitempty"`
	// progress of its mover, or of the last one.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// consecutiveFailures since the last success.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// resolvedCredentialVersion is opaque: a run that failed for good is tried again when it changes.
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

// SnapshotReplication copies snapshots from one repository to another.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshotreplications,shortName=kopiasrepl,categories=kopiur
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.sourceRef.name`
// +kubebuilder:printcolumn:name="Destination",type=string,JSONPath=`.spec.destinationRef.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Last",type=string,JSONPath=`.status.lastReplicated`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
type SnapshotReplication struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec SnapshotReplicationSpec `json:"spec"`
	// status is what Kopiur did.
	// +optional
	Status SnapshotReplicationStatus `json:"status,omitempty"`
}

// SnapshotReplicationList is a list of SnapshotReplications.
//
// +kubebuilder:object:root=true
type SnapshotReplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SnapshotReplication `json:"items"`
}
