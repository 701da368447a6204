// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// Throttle limits the traffic of one mover. What is left out is not limited.
type Throttle struct {
	// uploadBytesPerSecond limits writes to the store.
	// +kubebuilder:validation:Minimum=0
	// +optional
	UploadBytesPerSecond int64 `json:"uploadBytesPerSecond,omitempty"`
	// downloadBytesPerSecond limits reads from the store.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DownloadBytesPerSecond int64 `json:"downloadBytesPerSecond,omitempty"`
	// readOpsPerSecond limits read requests.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ReadOpsPerSecond int64 `json:"readOpsPerSecond,omitempty"`
	// writeOpsPerSecond limits write requests.
	// +kubebuilder:validation:Minimum=0
	// +optional
	WriteOpsPerSecond int64 `json:"writeOpsPerSecond,omitempty"`
}

// CacheSpec sizes the mover's cache, a volume that lives as long as the pod.
type CacheSpec struct {
	// capacity of the cache volume; kopia's own limits are derived from it and stay below 80 % of it.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
	// contentCacheSizeMb overrides the derived limit for file contents.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ContentCacheSizeMB int64 `json:"contentCacheSizeMb,omitempty"`
	// metadataCacheSizeMb overrides the derived limit for metadata.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MetadataCacheSizeMB int64 `json:"metadataCacheSizeMb,omitempty"`
}

// MoverSpec shapes the mover of one recipe. It is merged field by field over the repository's moverDefaults.
type MoverSpec struct {
	// resources of the mover's container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// cache of the mover.
	// +optional
	Cache *CacheSpec `json:"cache,omitempty"`
	// securityContext of the mover's container. Loosening it needs the Namespace annotation
	// kopiur.home-operations.com/privileged-movers.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// podSecurityContext of the mover's pod.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// privilegedMode runs the mover as root with just the capabilities that reading (or restoring) files of any owner
	// takes. It needs the Namespace annotation kopiur.home-operations.com/privileged-movers.
	// +optional
	PrivilegedMode *bool `json:"privilegedMode,omitempty"`
	// ttlSecondsAfterFinished is how long the finished Job stays, 3600 where it is left out.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// MoverDefaults shape every mover of a repository.
type MoverDefaults struct {
	// securityContext of the movers' container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// podSecurityContext of the movers' pods.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// resources of the movers' container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// cache of the movers.
	// +optional
	Cache *CacheSpec `json:"cache,omitempty"`
	// nodeSelector of the movers' pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the movers' pods.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// affinity of the movers' pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// ttlSecondsAfterFinished is how long finished Jobs stay, 3600 where it is left out.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// throttle limits the traffic of each mover.
	// +optional
	Throttle *Throttle `json:"throttle,omitempty"`
	// podLabels are added to the movers' Jobs and pods. Keys of Kopiur's own are refused.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kopiur.home-operations.com/') && k != 'app.kubernetes.io/managed-by')",message="podLabels must not use kopiur.home-operations.com/ keys or app.kubernetes.io/managed-by: Kopiur finds its own Jobs by them"
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// podAnnotations are added to the movers' pods. Keys of Kopiur's own are refused.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kopiur.home-operations.com/') && k != 'app.kubernetes.io/managed-by')",message="podAnnotations must not use kopiur.home-operations.com/ keys or app.kubernetes.io/managed-by"
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
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
