// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SnapshotSource picks one source of the policy.
type SnapshotSource struct {
	// sourceIndex into the policy's sources.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	SourceIndex int32 `json:"sourceIndex"`
	// target is the claim that a pvcSelector stands for here; needed for such a source.
	// +optional
	Target *SnapshotTarget `json:"target,omitempty"`
	// group is the group snapshot that this claim was cut with.
	// +optional
	Group *SnapshotGroup `json:"group,omitempty"`
}

// SnapshotTarget is one of the things that a source with a selector stands for.
type SnapshotTarget struct {
	// pvc is the claim.
	PVC NamespacedRef `json:"pvc"`
}

// NamespacedRef names an object and its namespace.
type NamespacedRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// SnapshotGroup names a VolumeGroupSnapshot.
type SnapshotGroup struct {
	// namespace of the VolumeGroupSnapshot.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// volumeGroupSnapshotName is its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	VolumeGroupSnapshotName string `json:"volumeGroupSnapshotName"`
}

// SnapshotSpec asks for one snapshot of one source.
type SnapshotSpec struct {
	// policyRef names the SnapshotPolicy that supplies source and options. It is in the Snapshot's own namespace.
	// +optional
	PolicyRef *PolicyRef `json:"policyRef,omitempty"`
	// repository that takes the snapshot: one of the policy's, needed where it has several.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`
	// source picks one source of the policy; needed where it has more than one, or a selector.
	// +optional
	Source *SnapshotSource `json:"source,omitempty"`
	// deletionPolicy says what happens to the data when this Snapshot is deleted; the policy's defaultDeletionPolicy where
	// it is left out.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// onScheduleDelete is set by the schedule that made this Snapshot: what happens to the data when it is deleted after
	// its schedule is gone.
	// +optional
	OnScheduleDelete CascadePolicy `json:"onScheduleDelete,omitempty"`
	// pin keeps this snapshot whatever retention says.
	// +optional
	Pin bool `json:"pin,omitempty"`
	// tags are stored with the snapshot.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 63 && !k.contains(':') && !k.startsWith('kopiur') && size(self[k]) <= 256)",message="tags: keys have at most 63 characters, no colon and do not start with kopiur; values have at most 256 characters"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// description is stored with the snapshot.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// failurePolicy bounds the run.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// mover shapes the mover of this run; it is merged over the policy's.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
}

// Snapshot is one backup of one source.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshots,shortName=kopiasnap,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Origin",type=string,JSONPath=`.status.origin`
// +kubebuilder:printcolumn:name="Snapshot",type=string,JSONPath=`.status.snapshot.kopiaSnapshotID`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.snapshot.identity.sourcePath`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	// +optional
	Spec SnapshotSpec `json:"spec,omitempty"`
	// status is what Kopiur did.
	// +optional
	Status SnapshotStatus `json:"status,omitempty"`
}

// SnapshotList is a list of Snapshots.
//
// +kubebuilder:object:root=true
type SnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Snapshot `json:"items"`
}
