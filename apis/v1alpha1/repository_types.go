// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RepositoryMode is ReadWrite or ReadOnly.
// +kubebuilder:validation:Enum=ReadWrite;ReadOnly
type RepositoryMode string

// Modes of a repository.
const (
	ModeReadWrite RepositoryMode = "ReadWrite"
	ModeReadOnly  RepositoryMode = "ReadOnly"
)

// RepositoryPhase is a repository's state in one word.
// +kubebuilder:validation:Enum=Pending;Initializing;Ready;Degraded;Failed
type RepositoryPhase string

// Phases of a repository.
const (
	RepositoryPending      RepositoryPhase = "Pending"
	RepositoryInitializing RepositoryPhase = "Initializing"
	RepositoryReady        RepositoryPhase = "Ready"
	RepositoryDegraded     RepositoryPhase = "Degraded"
	RepositoryFailed       RepositoryPhase = "Failed"
)

// Encryption holds what opens the repository.
type Encryption struct {
	// passwordSecretRef names the Secret key with the repository's password. The reference may change; the password that
	// it leads to is fixed when the repository is created.
	PasswordSecretRef SecretKeyRef `json:"passwordSecretRef"`
}

// CreateSpec says whether and how a repository is created. The algorithms are fixed at creation.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.splitter) || !has(self.splitter) || self.splitter == oldSelf.splitter",message="create.splitter cannot change: it is fixed when the repository is created"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.hash) || !has(self.hash) || self.hash == oldSelf.hash",message="create.hash cannot change: it is fixed when the repository is created"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.encryption) || !has(self.encryption) || self.encryption == oldSelf.encryption",message="create.encryption cannot change: it is fixed when the repository is created"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ecc) || !has(self.ecc) || self.ecc == oldSelf.ecc",message="create.ecc cannot change: it is fixed when the repository is created"
type CreateSpec struct {
	// enabled lets Kopiur create the repository where the store is reachable and proven empty.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// splitter that cuts files into contents.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Splitter string `json:"splitter,omitempty"`
	// hash that names contents.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
	// encryption of contents.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Encryption string `json:"encryption,omitempty"`
	// ecc adds error correction to the stored blobs.
	// +optional
	ECC *ECCSpec `json:"ecc,omitempty"`
}

// ECCSpec shapes error correction.
type ECCSpec struct {
	// algorithm of the error correction.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Algorithm string `json:"algorithm,omitempty"`
	// overheadPercent of storage that it may take; 0 is off.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	OverheadPercent int32 `json:"overheadPercent,omitempty"`
}

// BootstrapSpec shapes the Job that connects to a repository.
type BootstrapSpec struct {
	// failurePolicy of the Job. activeDeadlineSeconds is 120 and backoffLimit 2 where they are left out.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
}

// RepositorySpec is what both kinds of repositories have in common. The few fields that make sense for one of them are
// refused on the other.
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'ReadOnly' || !has(self.parameters) || (!has(self.parameters.epoch) && !has(self.parameters.blobRetention))",message="parameters must not be set when mode is ReadOnly: they are written to the repository"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'ReadOnly' || !has(self.server) || !has(self.server.readOnly) || self.server.readOnly",message="server.readOnly must not be false when mode is ReadOnly: leave it out, or set it to true"
// +kubebuilder:validation:XValidation:rule="!has(self.catalog) || !has(self.catalog.foreignSnapshots) || self.catalog.foreignSnapshots != 'Fallback' || (has(self.identityDefaults) && has(self.identityDefaults.cluster) && size(self.identityDefaults.cluster) > 0)",message="catalog.foreignSnapshots: Fallback needs identityDefaults.cluster, by which snapshots of other clusters are told apart"
type RepositorySpec struct {
	// backend that stores the repository.
	Backend Backend `json:"backend"`
	// encryption of the repository.
	Encryption Encryption `json:"encryption"`
	// create says whether and how a missing repository is created.
	// +kubebuilder:default={}
	// +optional
	Create *CreateSpec `json:"create,omitempty"`
	// bootstrap shapes the Job that connects.
	// +optional
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`
	// mode ReadOnly allows restores only.
	// +kubebuilder:default=ReadWrite
	// +optional
	Mode RepositoryMode `json:"mode,omitempty"`
	// moverDefaults shape every mover of this repository.
	// +optional
	MoverDefaults *MoverDefaults `json:"moverDefaults,omitempty"`
	// catalog says what becomes of snapshots that are in the repository and were not made by a Snapshot of this cluster.
	// +optional
	Catalog *CatalogSpec `json:"catalog,omitempty"`
	// concurrency bounds the movers that use the repository at once.
	// +optional
	Concurrency *ConcurrencySpec `json:"concurrency,omitempty"`
	// deletionProtection holds back deletions that come in great numbers.
	// +optional
	DeletionProtection *DeletionProtection `json:"deletionProtection,omitempty"`
	// health says what is watched, and what is done about it.
	// +optional
	Health *HealthSpec `json:"health,omitempty"`
	// identityDefaults name the snapshots of policies that do not name them themselves.
	// +optional
	IdentityDefaults *IdentityDefaults `json:"identityDefaults,omitempty"`
	// maintenance of the repository. Kopiur creates and owns a Maintenance where none of yours names this repository.
	// +optional
	Maintenance *RepositoryMaintenance `json:"maintenance,omitempty"`
	// onNamespaceDelete says what becomes of the stored data when a namespace is deleted with the Snapshots in it.
	// +kubebuilder:default=Orphan
	// +optional
	OnNamespaceDelete NamespaceDeletePolicy `json:"onNamespaceDelete,omitempty"`
	// parameters of the repository's format that may change. What is left out is left alone; taking a value away does not
	// restore kopia's default.
	// +optional
	Parameters *ParametersSpec `json:"parameters,omitempty"`
	// scheduleDefaults apply to all that is scheduled for this repository and names no value of its own.
	// +optional
	ScheduleDefaults *ScheduleDefaults `json:"scheduleDefaults,omitempty"`
	// seed fills a new repository from another one before its first use.
	// +optional
	Seed *SeedSpec `json:"seed,omitempty"`
	// server runs kopia's web UI for this repository; its presence switches it on.
	// +optional
	Server *ServerSpec `json:"server,omitempty"`
	// suspend stops new work on this repository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// NamespaceDeletePolicy is Orphan or Delete.
// +kubebuilder:validation:Enum=Orphan;Delete
type NamespaceDeletePolicy string

// What becomes of stored data when its namespace is deleted.
const (
	// NamespaceOrphan keeps the data.
	NamespaceOrphan NamespaceDeletePolicy = "Orphan"
	// NamespaceDelete deletes what the Snapshots' own deletionPolicy deletes.
	NamespaceDelete NamespaceDeletePolicy = "Delete"
)

// Repository is a kopia repository in reach of one namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
// +kubebuilder:resource:path=repositories,shortName=kopiarepo,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server.endpoint`
// +kubebuilder:printcolumn:name="IndexBlobs",type=integer,JSONPath=`.status.storageStats.indexBlobCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Repository struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	// +kubebuilder:validation:XValidation:rule="!has(self.server) || !has(self.server.__namespace__) || size(self.server.__namespace__) == 0",message="server.namespace is for a ClusterRepository only: a Repository's server runs in its own namespace"
	// +kubebuilder:validation:XValidation:rule="!has(self.maintenance) || !has(self.maintenance.__namespace__) || size(self.maintenance.__namespace__) == 0",message="maintenance.namespace is for a ClusterRepository only: a Repository's maintenance runs in its own namespace"
	// +kubebuilder:validation:XValidation:rule="!has(self.catalog) || !has(self.catalog.fallbackNamespace) || size(self.catalog.fallbackNamespace) == 0",message="catalog.fallbackNamespace is for a ClusterRepository only: a Repository's rows are in its own namespace"
	Spec RepositorySpec `json:"spec"`
	// status is what Kopiur found.
	// +optional
	Status RepositoryStatus `json:"status,omitempty"`
}

// RepositoryList is a list of repositories.
//
// +kubebuilder:object:root=true
type RepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Repository `json:"items"`
}
