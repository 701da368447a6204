// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sample is what chartgen's tests generate from.
// +groupName=sample.example.com
// +versionName=v1
package sample

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kopiur-system,resources=leases,verbs=create

// Box is a kind.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is described by us.
	Spec BoxSpec `json:"spec,omitempty"`
}

// BoxList is a list of boxes.
// +kubebuilder:object:root=true
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Box `json:"items"`
}

// BoxSpec is ours.
type BoxSpec struct {
	// toleration is ours, what is in it is not.
	Toleration corev1.Toleration `json:"toleration,omitempty"`
	// size has bounds.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Enum=1;3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="size must be odd"
	Size int32 `json:"size"`
	// lids close it.
	// +optional
	Lids []Lid `json:"lids,omitempty"`
}

// Lid closes a box.
type Lid struct {
	// name of the lid.
	Name string `json:"name"`
}
