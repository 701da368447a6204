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

// RepositorySpec is what both kinds of repositories have in common.
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
	// suspend stops new work on this repository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

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
	// consecutiveProbeFailures in the present row.
	// +optional
	ConsecutiveProbeFailures int32 `json:"consecutiveProbeFailures,omitempty"`
	// lastProbeAt is when the last connect ended.
	// +optional
	LastProbeAt string `json:"lastProbeAt,omitempty"`
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
	// deadlineKills in a row: each doubles the time that the next attempt gets.
	// +optional
	DeadlineKills int32 `json:"deadlineKills,omitempty"`
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
	// backend that is in use: filesystem or s3.
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
	// storageStats of the last connect.
	// +optional
	StorageStats *StorageStats `json:"storageStats,omitempty"`
	// health of the connection.
	// +optional
	Health *RepositoryHealth `json:"health,omitempty"`
	// job that connects at present, or did last.
	// +optional
	Job *ConnectJob `json:"job,omitempty"`
	// failure of the last connect; absent after a success.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// Repository is a kopia repository in reach of one namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repositories,shortName=kopiarepo,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="IndexBlobs",type=integer,JSONPath=`.status.storageStats.indexBlobCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Repository struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
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

// AllowedNamespaces says who may use a ClusterRepository: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.list) ? 1 : 0) + (has(self.selector) ? 1 : 0) + (has(self.all) ? 1 : 0) == 1",message="allowedNamespaces must have exactly one of list, selector, all"
type AllowedNamespaces struct {
	// list of namespace names.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	List []string `json:"list,omitempty"`
	// selector over the labels of namespaces. An empty selector allows none.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// all allows every namespace; it must be true.
	// +kubebuilder:validation:XValidation:rule="self",message="all must be true; list or selector allow less"
	// +optional
	All *bool `json:"all,omitempty"`
}

// ClusterRepositorySpec is a repository that many namespaces use.
type ClusterRepositorySpec struct {
	RepositorySpec `json:",inline"`
	// allowedNamespaces may use this repository in their policies and restores.
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces"`
}

// ClusterRepository is a kopia repository in reach of many namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterrepositories,scope=Cluster,shortName=kopiacrepo,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="IndexBlobs",type=integer,JSONPath=`.status.storageStats.indexBlobCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRepository struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec ClusterRepositorySpec `json:"spec"`
	// status is what Kopiur found.
	// +optional
	Status RepositoryStatus `json:"status,omitempty"`
}

// ClusterRepositoryList is a list of cluster repositories.
//
// +kubebuilder:object:root=true
type ClusterRepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRepository `json:"items"`
}
