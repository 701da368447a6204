// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SnapshotPolicySpec says what is backed up, and how.
// +kubebuilder:validation:XValidation:rule="(has(self.repository) ? 1 : 0) + (has(self.repositories) && size(self.repositories) > 0 ? 1 : 0) == 1",message="spec must have exactly one of repository, repositories"
type SnapshotPolicySpec struct {
	// repository that takes the snapshots.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// repositories that each take a snapshot of every source. Hooks cannot be used with them.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Repositories []RepositoryRef `json:"repositories,omitempty"`
	// sources to back up.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="size(self) == 1 || !self.exists(s, has(s.stream))",message="a stream must be the only source: give it a policy of its own"
	// +listType=atomic
	Sources []Source `json:"sources"`
	// copyMethod says what the mover reads: a CSI snapshot, a CSI clone or the live volume.
	// +kubebuilder:default=Snapshot
	// +optional
	CopyMethod CopyMethod `json:"copyMethod,omitempty"`
	// volumeSnapshotClassName for copyMethod Snapshot; the driver's default where it is left out or empty.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	VolumeSnapshotClassName string `json:"volumeSnapshotClassName,omitempty"`
	// groupBy says whether the claims of a run are cut at the same instant. It matters where a run has more than one; None
	// cuts each for itself.
	// +kubebuilder:default=VolumeGroupSnapshot
	// +optional
	GroupBy GroupBy `json:"groupBy,omitempty"`
	// staging shapes the claim that copyMethod Snapshot and Clone read.
	// +optional
	Staging *Staging `json:"staging,omitempty"`
	// identity that snapshots are filed under.
	// +optional
	Identity *PolicyIdentity `json:"identity,omitempty"`
	// retention says which snapshots are kept; all of them where it is left out.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
	// defaultDeletionPolicy says what happens to the data when a Snapshot of this policy is deleted, unless the Snapshot
	// says it itself.
	// +kubebuilder:default=Delete
	// +optional
	DefaultDeletionPolicy DeletionPolicy `json:"defaultDeletionPolicy,omitempty"`
	// deletion says what happens when the policy is deleted.
	// +kubebuilder:default={}
	// +optional
	Deletion *PolicyDeletion `json:"deletion,omitempty"`
	// compression of new contents.
	// +optional
	Compression *Compression `json:"compression,omitempty"`
	// files says which files are stored.
	// +kubebuilder:default={}
	// +optional
	Files *Files `json:"files,omitempty"`
	// errorHandling says what a run tolerates.
	// +optional
	ErrorHandling *ErrorHandling `json:"errorHandling,omitempty"`
	// upload bounds a run.
	// +optional
	Upload *Upload `json:"upload,omitempty"`
	// extraArgs are flags of "kopia snapshot create" that stand for fields of this policy; every other flag is refused by
	// name. Prefer the fields.
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// hooks run before and after each snapshot.
	// +optional
	Hooks *Hooks `json:"hooks,omitempty"`
	// verification proves on a schedule that what was stored can be read back.
	// +optional
	Verification *Verification `json:"verification,omitempty"`
	// preflight lists what must be true before a run starts.
	// +optional
	Preflight *Preflight `json:"preflight,omitempty"`
	// mover shapes the movers of this policy.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// credentialProjection copies the Secrets of a ClusterRepository into this namespace.
	// +optional
	CredentialProjection *CredentialProjection `json:"credentialProjection,omitempty"`
	// adoption says whether snapshots that are already in the repository under this policy's identity become its own; the
	// repository's catalog.adoption where it is left out.
	// +optional
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// suspend stops new runs.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// SnapshotPolicy says what is backed up, and how. A Snapshot that names it makes one backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshotpolicies,shortName=kopiasp,categories=kopiur
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository.name`
// +kubebuilder:printcolumn:name="Repositories",type=string,JSONPath=`.spec.repositories[*].name`
// +kubebuilder:printcolumn:name="Last-Snapshot",type=string,JSONPath=`.status.lastSuccessfulSnapshot`
// +kubebuilder:printcolumn:name="Last-Verified",type=string,JSONPath=`.status.lastVerified`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
type SnapshotPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec SnapshotPolicySpec `json:"spec"`
	// status is what Kopiur found.
	// +optional
	Status SnapshotPolicyStatus `json:"status,omitempty"`
}

// SnapshotPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type SnapshotPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SnapshotPolicy `json:"items"`
}
