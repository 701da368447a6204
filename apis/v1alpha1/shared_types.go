// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Duration is a length of time such as 90s, 10m or 1h30m; bare digits are seconds. It is kept as text and parsed at use,
// so that one bad value can never hide a whole list of objects.
// +kubebuilder:validation:MaxLength=64
type Duration string

// SecretKeyRef names one key of a Secret.
type SecretKeyRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key below data. KOPIA_PASSWORD where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
	// namespace of the Secret; the referring object's own where it is left out, a ClusterRepository's home namespace for
	// cluster-scoped ones.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// SecretRef names a whole Secret.
type SecretRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the Secret; the referring object's own where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// RepositoryKind is Repository or ClusterRepository.
// +kubebuilder:validation:Enum=Repository;ClusterRepository
type RepositoryKind string

// Kinds of repositories.
const (
	KindRepository        RepositoryKind = "Repository"
	KindClusterRepository RepositoryKind = "ClusterRepository"
)

// RepositoryRef names a Repository or ClusterRepository.
// +kubebuilder:validation:XValidation:rule="!has(self.namespace) || size(self.namespace) == 0 || self.kind != 'ClusterRepository'",message="namespace must not be set when kind is ClusterRepository"
type RepositoryRef struct {
	// name of the repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// kind of the repository.
	// +kubebuilder:default=Repository
	// +optional
	Kind RepositoryKind `json:"kind,omitempty"`
	// namespace of a Repository; the referring object's own where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ObjectRef names an object of a kind that follows from the field.
type ObjectRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the object; the referring object's own where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// PolicyRef names a SnapshotPolicy.
type PolicyRef struct {
	// name of the SnapshotPolicy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// namespace of the SnapshotPolicy; the referring object's own where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// CronSpec says when something runs.
type CronSpec struct {
	// cron has five fields: minutes, hours, days of the month, months and weekdays. A field may be the single letter H: a value
	// that follows from the object's own name, so that many objects do not run at once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cron string `json:"cron"`
	// jitter delays each run by up to that much, at most 24h; the same run by the same delay on every replica.
	// +optional
	Jitter Duration `json:"jitter,omitempty"`
	// timezone by its IANA name, such as Europe/Berlin; the repository's scheduleDefaults, else UTC, where it is left out.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Timezone string `json:"timezone,omitempty"`
}

// CredentialProjection copies a ClusterRepository's Secrets into the namespace where the mover runs.
type CredentialProjection struct {
	// enabled asks for the copy. The ClusterRepository has to allow it, and the chart's features.credentialProjection has
	// to be on.
	// +kubebuilder:default=false
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// Retention says which snapshots are kept; what no rule keeps is deleted. Periods are counted in UTC, and in each the
// newest snapshot is the one that is kept.
// +kubebuilder:validation:XValidation:rule="(has(self.keepLatest) ? self.keepLatest : 0) + (has(self.keepHourly) ? self.keepHourly : 0) + (has(self.keepDaily) ? self.keepDaily : 0) + (has(self.keepWeekly) ? self.keepWeekly : 0) + (has(self.keepMonthly) ? self.keepMonthly : 0) + (has(self.keepAnnual) ? self.keepAnnual : 0) > 0",message="retention must keep something: leave it out to keep every snapshot, or set at least one of keepLatest, keepHourly, keepDaily, keepWeekly, keepMonthly, keepAnnual to 1 or more"
type Retention struct {
	// keepLatest snapshots, whatever their age.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepLatest *int32 `json:"keepLatest,omitempty"`
	// keepHourly is for how many hours one snapshot each is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepHourly *int32 `json:"keepHourly,omitempty"`
	// keepDaily is for how many days one snapshot each is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepDaily *int32 `json:"keepDaily,omitempty"`
	// keepWeekly is for how many ISO weeks one snapshot each is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepWeekly *int32 `json:"keepWeekly,omitempty"`
	// keepMonthly is for how many months one snapshot each is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepMonthly *int32 `json:"keepMonthly,omitempty"`
	// keepAnnual is for how many years one snapshot each is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepAnnual *int32 `json:"keepAnnual,omitempty"`
}

// DeletionPolicy says what happens to the stored data when its object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain;Orphan
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionDelete deletes the data from the repository.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain keeps the data.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionOrphan keeps the data, and an event and a metric say so for each object.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// CascadePolicy says what happens to the data of Snapshots whose schedule or policy is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type CascadePolicy string

// Cascade policies.
const (
	CascadeRetain CascadePolicy = "Retain"
	CascadeDelete CascadePolicy = "Delete"
)

// WorkloadExec runs a command in a container of a running pod.
type WorkloadExec struct {
	// podSelector must match exactly one running pod of the namespace. It must not be empty.
	PodSelector metav1.LabelSelector `json:"podSelector"`
	// container of the pod; its first where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Container string `json:"container,omitempty"`
	// command and its arguments; no shell is involved unless you name one. It can be read in the pod's spec, so it is no
	// place for passwords.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Command []string `json:"command"`
	// timeout of the command, 1h where it is left out.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
}

// LocalRef names an object in the same namespace.
type LocalRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// FailurePolicy bounds the Job of one run.
type FailurePolicy struct {
	// backoffLimit is how often a failed mover is tried again within one run.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// activeDeadlineSeconds bounds the run; the mover saves what it has and ends before it.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// podStartupDeadlineSeconds bounds the time until the mover's pod runs, 300 where it is left out. Staging has a
	// deadline of its own.
	// +kubebuilder:validation:Minimum=1
	// +optional
	PodStartupDeadlineSeconds *int64 `json:"podStartupDeadlineSeconds,omitempty"`
}

// Identity is what kopia files a snapshot under: username@hostname:sourcePath.
type Identity struct {
	// username part of the identity.
	Username string `json:"username"`
	// hostname part of the identity.
	Hostname string `json:"hostname"`
	// sourcePath part of the identity.
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
}

// JobStatus names the mover Job of the present attempt.
type JobStatus struct {
	// name of the Job.
	// +optional
	Name string `json:"name,omitempty"`
	// attempts that were started so far.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
}

// Failure explains the last failure.
type Failure struct {
	// kopiaErrorClass is the class of the failure.
	KopiaErrorClass string `json:"kopiaErrorClass"`
	// message says what happened and what to do.
	Message string `json:"message"`
	// retryRecommended is true where the same run may succeed later without a change.
	RetryRecommended bool `json:"retryRecommended"`
	// op is the mover operation that failed.
	// +optional
	Op string `json:"op,omitempty"`
	// exitCode of the mover's container.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// stderrTail is the end of what the mover printed where it left no result.
	// +optional
	StderrTail string `json:"stderrTail,omitempty"`
}

// EntryFault is one file-system entry that something could not be done to.
type EntryFault struct {
	// path below the source or target.
	Path string `json:"path"`
	// uid that owns the entry.
	// +optional
	UID int64 `json:"uid,omitempty"`
	// mode of the entry, as ls prints it.
	// +optional
	Mode string `json:"mode,omitempty"`
	// reason in a few words.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Progress is how far a running mover has come.
type Progress struct {
	// bytesProcessed so far.
	// +optional
	BytesProcessed int64 `json:"bytesProcessed,omitempty"`
	// filesProcessed so far.
	// +optional
	FilesProcessed int64 `json:"filesProcessed,omitempty"`
	// bytesTotal is an estimate; absent while unknown.
	// +optional
	BytesTotal int64 `json:"bytesTotal,omitempty"`
	// filesTotal is an estimate; absent while unknown.
	// +optional
	FilesTotal int64 `json:"filesTotal,omitempty"`
	// bytesPerSecond at present.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// etaSeconds until the end at the present rate.
	// +optional
	ETASeconds int64 `json:"etaSeconds,omitempty"`
	// updatedAt is when the mover reported this.
	// +optional
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// Timing of a run, by the mover's clock.
type Timing struct {
	// startTime of the run.
	// +optional
	StartTime string `json:"startTime,omitempty"`
	// endTime of the run.
	// +optional
	EndTime string `json:"endTime,omitempty"`
	// durationSeconds between them.
	// +optional
	DurationSeconds int64 `json:"durationSeconds,omitempty"`
}
