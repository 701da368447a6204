// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ParametersSpec changes parameters of the repository's format.
type ParametersSpec struct {
	// epoch shapes how index blobs are grouped and compacted.
	// +optional
	Epoch *EpochParameters `json:"epoch,omitempty"`
	// blobRetention locks stored objects against deletion, where the store can (s3, azure and gcs).
	// +optional
	BlobRetention *BlobRetention `json:"blobRetention,omitempty"`
}

// EpochParameters shape how index blobs are grouped and compacted.
type EpochParameters struct {
	// minDuration of an epoch, at least 10m and three times refreshFrequency; kopia's default is 24h.
	// +optional
	MinDuration Duration `json:"minDuration,omitempty"`
	// refreshFrequency of the list of epochs; kopia's default is 20m.
	// +optional
	RefreshFrequency Duration `json:"refreshFrequency,omitempty"`
	// advanceOnCount of index blobs; kopia's default is 20.
	// +kubebuilder:validation:Minimum=10
	// +optional
	AdvanceOnCount *int32 `json:"advanceOnCount,omitempty"`
	// advanceOnSizeMiB of index blobs; kopia's default is 10.
	// +kubebuilder:validation:Minimum=1
	// +optional
	AdvanceOnSizeMiB *int32 `json:"advanceOnSizeMiB,omitempty"`
	// checkpointFrequency in epochs; kopia's default is 7.
	// +kubebuilder:validation:Minimum=1
	// +optional
	CheckpointFrequency *int32 `json:"checkpointFrequency,omitempty"`
	// deleteParallelism of the cleanup; kopia's default is 4.
	// +kubebuilder:validation:Minimum=1
	// +optional
	DeleteParallelism *int32 `json:"deleteParallelism,omitempty"`
}

// BlobRetention locks stored objects against deletion: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.governance) ? 1 : 0) + (has(self.compliance) ? 1 : 0) + (has(self.disabled) ? 1 : 0) == 1",message="blobRetention must have exactly one of governance, compliance, disabled"
type BlobRetention struct {
	// governance locks objects against everybody who lacks a special permission at the store.
	// +optional
	Governance *RetentionPeriod `json:"governance,omitempty"`
	// compliance locks objects against everybody, the account's owner too. It cannot be undone.
	// +optional
	Compliance *RetentionPeriod `json:"compliance,omitempty"`
	// disabled stops locking new objects; it must be true.
	// +kubebuilder:validation:XValidation:rule="self",message="disabled must be true; leave blobRetention out to leave it alone"
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// RetentionPeriod is how long stored objects are locked.
type RetentionPeriod struct {
	// period of the lock, at least 24h. Full maintenance extends it.
	Period Duration `json:"period"`
}

// SeedSpec fills a new repository from another one before its first use. A repository that exists already is never
// seeded.
// +kubebuilder:validation:XValidation:rule="!has(self.sync) || has(self.from.backend)",message="seed.sync goes with seed.from.backend; use seed.migrate with seed.from.repository"
// +kubebuilder:validation:XValidation:rule="!has(self.migrate) || has(self.from.repository)",message="seed.migrate goes with seed.from.repository; use seed.sync with seed.from.backend"
type SeedSpec struct {
	// from is what to copy.
	From SeedSource `json:"from"`
	// allowEmptySource makes a new repository where the source is empty; it is waited for otherwise.
	// +optional
	AllowEmptySource bool `json:"allowEmptySource,omitempty"`
	// credentialProjection asks for a copy of the source's Secrets where the seeding mover runs.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
	// failurePolicy of the seeding Job. activeDeadlineSeconds is 86400 where it is left out.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// sync shapes the copy of blobs; with from.backend only.
	// +optional
	Sync *SeedSync `json:"sync,omitempty"`
	// migrate shapes the copy of snapshots; with from.repository only.
	// +optional
	Migrate *SeedMigrate `json:"migrate,omitempty"`
}

// SeedSource is what to copy: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.backend) ? 1 : 0) + (has(self.repository) ? 1 : 0) == 1",message="seed.from must have exactly one of backend, repository"
type SeedSource struct {
	// backend is copied blob by blob, so that the new repository is the same one with the same password.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
	// repository is read with its own password, and its snapshots are written anew.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
}

// SeedSync shapes a copy of blobs.
type SeedSync struct {
	// parallel copies at once.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Parallel *int32 `json:"parallel,omitempty"`
	// maxDownloadSpeedBytesPerSecond from the source; unlimited where it is left out or 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxDownloadSpeedBytesPerSecond int64 `json:"maxDownloadSpeedBytesPerSecond,omitempty"`
	// maxUploadSpeedBytesPerSecond to the repository; unlimited where it is left out or 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxUploadSpeedBytesPerSecond int64 `json:"maxUploadSpeedBytesPerSecond,omitempty"`
}

// MigratePolicies says what becomes of the source's kopia policies.
// +kubebuilder:validation:Enum=none;copy;copyOverwrite
type MigratePolicies string

// What becomes of the source's kopia policies.
const (
	// MigratePoliciesNone leaves them.
	MigratePoliciesNone MigratePolicies = "none"
	// MigratePoliciesCopy copies those that the destination lacks.
	MigratePoliciesCopy MigratePolicies = "copy"
	// MigratePoliciesCopyOverwrite copies all of them.
	MigratePoliciesCopyOverwrite MigratePolicies = "copyOverwrite"
)

// MigrateThrottle limits the two connections of a copy of snapshots.
type MigrateThrottle struct {
	// source limits the connection that is read from.
	// +optional
	Source *Throttle `json:"source,omitempty"`
	// destination limits the connection that is written to.
	// +optional
	Destination *Throttle `json:"destination,omitempty"`
}

// SeedMigrate shapes a copy of snapshots.
type SeedMigrate struct {
	// latestOnly copies the newest snapshot of each source.
	// +optional
	LatestOnly bool `json:"latestOnly,omitempty"`
	// parallel sources at once.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Parallel *int32 `json:"parallel,omitempty"`
	// policies says what becomes of the source's kopia policies.
	// +kubebuilder:default=none
	// +optional
	Policies MigratePolicies `json:"policies,omitempty"`
	// throttle limits the two connections.
	// +optional
	Throttle *MigrateThrottle `json:"throttle,omitempty"`
}
