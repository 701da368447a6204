// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StorageStats describe what a repository holds.
type StorageStats struct {
	// snapshotCount of complete snapshots.
	// +optional
	SnapshotCount int64 `json:"snapshotCount,omitempty"`
	// totalSize is totalSizeBytes for people.
	// +optional
	TotalSize string `json:"totalSize,omitempty"`
	// totalSizeBytes is the sum of the newest snapshot of every source.
	// +optional
	TotalSizeBytes int64 `json:"totalSizeBytes,omitempty"`
	// indexBlobCount grows where maintenance does not keep up.
	// +optional
	IndexBlobCount int64 `json:"indexBlobCount,omitempty"`
	// lastObservedAt is when the mover counted.
	// +optional
	LastObservedAt string `json:"lastObservedAt,omitempty"`
}

// RepositoryHealth describes the connection.
type RepositoryHealth struct {
	// connectSeconds is how long the last successful connect took.
	// +optional
	ConnectSeconds int64 `json:"connectSeconds,omitempty"`
	// indexBytes is the size of all index blobs.
	// +optional
	IndexBytes int64 `json:"indexBytes,omitempty"`
	// lastHealthyAt is when a connect last succeeded.
	// +optional
	LastHealthyAt string `json:"lastHealthyAt,omitempty"`
	// firstFailureAt is when the present row of failures began.
	// +optional
	FirstFailureAt string `json:"firstFailureAt,omitempty"`
	// consecutiveProbeFailures in the present row: connects that found the repository lost or out of reach. One that was
	// slow, or told nothing, is none.
	// +optional
	ConsecutiveProbeFailures int32 `json:"consecutiveProbeFailures,omitempty"`
	// lastProbeAt is when the last connect ended.
	// +optional
	LastProbeAt string `json:"lastProbeAt,omitempty"`
	// probeAttemptAt is when the probe that runs at present was started.
	// +optional
	ProbeAttemptAt string `json:"probeAttemptAt,omitempty"`
}

// ConnectJob names the Job that connects to a repository, and says whether its outcome is in this status.
type ConnectJob struct {
	// name of the Job.
	// +optional
	Name string `json:"name,omitempty"`
	// attempts that were started so far.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// finishedAt is when the outcome was recorded; absent while the Job runs.
	// +optional
	FinishedAt string `json:"finishedAt,omitempty"`
	// failures in a row, whatever their cause: each makes the rest before the next attempt longer.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// deadlineKills in a row: each doubles the time that the next attempt gets.
	// +optional
	DeadlineKills int32 `json:"deadlineKills,omitempty"`
}

// CatalogCoverage is Complete or Capped.
// +kubebuilder:validation:Enum=Complete;Capped
type CatalogCoverage string

// How much of the repository the rows cover.
const (
	CatalogComplete CatalogCoverage = "Complete"
	CatalogCapped   CatalogCoverage = "Capped"
)

// CatalogStatus is what the last listing of the repository found.
type CatalogStatus struct {
	// discoveredBackupCount of snapshots that belong to no Snapshot of a policy here, those of other clusters aside.
	// +optional
	DiscoveredBackupCount int64 `json:"discoveredBackupCount,omitempty"`
	// foreignSnapshotCount of snapshots that belong to other clusters.
	// +optional
	ForeignSnapshotCount int64 `json:"foreignSnapshotCount,omitempty"`
	// unplacedSnapshotCount of snapshots that have no row because no namespace may have it.
	// +optional
	UnplacedSnapshotCount int64 `json:"unplacedSnapshotCount,omitempty"`
	// coverage is Capped where there are more snapshots than rows.
	// +optional
	Coverage CatalogCoverage `json:"coverage,omitempty"`
	// lastRefreshAt is when the last listing ended.
	// +optional
	LastRefreshAt string `json:"lastRefreshAt,omitempty"`
	// generation of the spec that the last listing was made for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// scanRequestAttemptAt is when the requested listing was last started.
	// +optional
	ScanRequestAttemptAt string `json:"scanRequestAttemptAt,omitempty"`
	// scanRequestHonored is the value of the annotation that was last honoured.
	// +optional
	ScanRequestHonored string `json:"scanRequestHonored,omitempty"`
}

// EpochStatus is how index blobs are grouped at present.
type EpochStatus struct {
	// enabled is false for repositories in an old format.
	Enabled bool `json:"enabled"`
	// minDuration of an epoch.
	MinDuration string `json:"minDuration"`
	// refreshFrequency of the list of epochs.
	RefreshFrequency string `json:"refreshFrequency"`
	// advanceOnCount of index blobs.
	AdvanceOnCount int64 `json:"advanceOnCount"`
	// advanceOnSizeMiB of index blobs.
	AdvanceOnSizeMiB int64 `json:"advanceOnSizeMiB"`
	// checkpointFrequency in epochs.
	CheckpointFrequency int64 `json:"checkpointFrequency"`
	// deleteParallelism of the cleanup.
	DeleteParallelism int64 `json:"deleteParallelism"`
	// cleanupSafetyMargin is how long blobs that were replaced stay.
	CleanupSafetyMargin string `json:"cleanupSafetyMargin"`
}

// BlobRetentionStatus is how stored objects are locked at present.
type BlobRetentionStatus struct {
	// enabled is true where objects are locked.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// mode of the lock, as the store calls it.
	// +optional
	Mode string `json:"mode,omitempty"`
	// period of the lock.
	// +optional
	Period string `json:"period,omitempty"`
}

// ParametersStatus is what the repository's format says at present.
type ParametersStatus struct {
	// epoch parameters.
	// +optional
	Epoch *EpochStatus `json:"epoch,omitempty"`
	// blobRetention of stored objects.
	// +optional
	BlobRetention *BlobRetentionStatus `json:"blobRetention,omitempty"`
}

// SeedMode is blob or migrate.
// +kubebuilder:validation:Enum=blob;migrate
type SeedMode string

// Ways of seeding.
const (
	SeedBlob      SeedMode = "blob"
	SeedByMigrate SeedMode = "migrate"
)

// SeedStatus is how the repository was filled.
type SeedStatus struct {
	// mode blob copied blobs, migrate copied snapshots.
	// +optional
	Mode SeedMode `json:"mode,omitempty"`
	// source for people.
	// +optional
	Source string `json:"source,omitempty"`
	// startedAt is when seeding began.
	// +optional
	StartedAt string `json:"startedAt,omitempty"`
	// seededAt is when it ended.
	// +optional
	SeededAt string `json:"seededAt,omitempty"`
	// snapshotCount in the repository when it ended.
	// +optional
	SnapshotCount int64 `json:"snapshotCount,omitempty"`
	// snapshotsCopied by it.
	// +optional
	SnapshotsCopied int64 `json:"snapshotsCopied,omitempty"`
}

// ServerAuthMode is generate, secretRef or insecure.
// +kubebuilder:validation:Enum=generate;secretRef;insecure
type ServerAuthMode string

// How people log in to the server.
const (
	ServerAuthGenerate  ServerAuthMode = "generate"
	ServerAuthSecretRef ServerAuthMode = "secretRef"
	ServerAuthInsecure  ServerAuthMode = "insecure"
)

// ServerStatus is where the web UI is.
type ServerStatus struct {
	// endpoint as service.namespace.svc:port.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// namespace it runs in.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// authMode in use.
	// +optional
	AuthMode ServerAuthMode `json:"authMode,omitempty"`
	// readOnly is true where it can only read.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// generatedSecretRef names the Secret with the generated password.
	// +optional
	GeneratedSecretRef *SecretRef `json:"generatedSecretRef,omitempty"`
}

// RegisteredOwner is whom the repository lets run its maintenance.
type RegisteredOwner struct {
	// owner as user@host. Kopiur's own is kopiur@kopiur-<namespace>-<name>, whatever pod it runs in.
	Owner string `json:"owner"`
	// since is when this owner was first seen.
	// +optional
	Since string `json:"since,omitempty"`
	// previous owner that the maintenance was taken over from.
	// +optional
	Previous string `json:"previous,omitempty"`
}

// DeletionAck is the acknowledgement of held deletions that is in effect.
type DeletionAck struct {
	// value of the annotation, as it was written.
	// +optional
	Value string `json:"value,omitempty"`
	// effectiveAt is the instant that it covers deletions up to. It never moves, so that a later wave is not covered.
	// +optional
	EffectiveAt string `json:"effectiveAt,omitempty"`
}

// RepositoryStatus is what both kinds of repositories report.
type RepositoryStatus struct {
	// conditions of the repository.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// phase in one word.
	// +optional
	Phase RepositoryPhase `json:"phase,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// backend that is in use: the key below spec.backend.
	// +optional
	Backend string `json:"backend,omitempty"`
	// uniqueId of the kopia repository, pinned at the first connect. Another one is never created in its place.
	// +optional
	UniqueID string `json:"uniqueId,omitempty"`
	// resolvedCredentialVersion is the version of the Secrets and CA bundle that the last attempt used.
	// +optional
	ResolvedCredentialVersion string `json:"resolvedCredentialVersion,omitempty"`
	// lastReverifyAt is when a requested verification was last honoured.
	// +optional
	LastReverifyAt string `json:"lastReverifyAt,omitempty"`
	// catalog is what the last listing found.
	// +optional
	Catalog *CatalogStatus `json:"catalog,omitempty"`
	// parameters of the repository's format.
	// +optional
	Parameters *ParametersStatus `json:"parameters,omitempty"`
	// seed is how the repository was filled.
	// +optional
	Seed *SeedStatus `json:"seed,omitempty"`
	// server is where the web UI is.
	// +optional
	Server *ServerStatus `json:"server,omitempty"`
	// deletionAck is the acknowledgement of held deletions that is in effect.
	// +optional
	DeletionAck *DeletionAck `json:"deletionAck,omitempty"`
	// storageStats of the last connect.
	// +optional
	StorageStats *StorageStats `json:"storageStats,omitempty"`
	// health of the connection.
	// +optional
	Health *RepositoryHealth `json:"health,omitempty"`
	// maintenanceOwner is whom the repository lets run its maintenance.
	// +optional
	MaintenanceOwner *RegisteredOwner `json:"maintenanceOwner,omitempty"`
	// job that connects at present, or did last.
	// +optional
	Job *ConnectJob `json:"job,omitempty"`
	// failure of the last connect; absent after a success.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}
