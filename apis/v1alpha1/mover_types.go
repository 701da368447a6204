// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// CacheMode says how long a mover's cache lives.
// +kubebuilder:validation:Enum=Ephemeral;Persistent
type CacheMode string

// Cache modes.
const (
	// CacheEphemeral lives as long as the pod.
	CacheEphemeral CacheMode = "Ephemeral"
	// CachePersistent is a claim that the next run of the same recipe finds again.
	CachePersistent CacheMode = "Persistent"
)

// CacheSpec sizes the mover's cache.
type CacheSpec struct {
	// capacity of the cache volume; kopia's limits stay below 80 % of it. Without it an emptyDir has no size, and a claim 5Gi.
	// A kept claim is replaced when it changes.
	// +optional
	Capacity Quantity `json:"capacity,omitempty"`
	// storageClassName of the cache's claim. Without it mode Persistent takes the default class, and Ephemeral an emptyDir.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// mode Ephemeral (the default) goes with the pod; Persistent is a claim that is kept for the object's next mover.
	// +optional
	Mode CacheMode `json:"mode,omitempty"`
	// contentCacheSizeMb overrides the derived limit for file contents.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ContentCacheSizeMB int64 `json:"contentCacheSizeMb,omitempty"`
	// metadataCacheSizeMb overrides the derived limit for metadata.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MetadataCacheSizeMB int64 `json:"metadataCacheSizeMb,omitempty"`
}

// InheritSecurityContextFrom names the pod whose user and groups the mover takes over: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.workloadSelector) ? 1 : 0) + (has(self.pvcConsumer) ? 1 : 0) + (has(self.snapshot) ? 1 : 0) == 1",message="inheritSecurityContextFrom must have exactly one of workloadSelector, pvcConsumer, snapshot"
type InheritSecurityContextFrom struct {
	// workloadSelector selects a running pod.
	// +optional
	WorkloadSelector *WorkloadSelector `json:"workloadSelector,omitempty"`
	// pvcConsumer takes over user and groups of the pod that mounts the claim to back up.
	// +optional
	PVCConsumer *PVCConsumer `json:"pvcConsumer,omitempty"`
	// snapshot takes over user and groups that were recorded with the backup; for restores only.
	// +optional
	Snapshot *InheritFromSnapshot `json:"snapshot,omitempty"`
}

// WorkloadSelector selects a running pod of the namespace.
type WorkloadSelector struct {
	// podSelector over the labels of pods. It must not be empty.
	PodSelector metav1.LabelSelector `json:"podSelector"`
	// container of the pod; its first where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Container string `json:"container,omitempty"`
}

// PVCConsumer is the pod that mounts the claim to back up.
type PVCConsumer struct {
	// container of the pod; the one that mounts the claim where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Container string `json:"container,omitempty"`
}

// InheritFromSnapshot has no settings yet.
type InheritFromSnapshot struct{}

// MoverSpec shapes the mover of one recipe. It is merged field by field over the repository's moverDefaults.
type MoverSpec struct {
	// resources of the mover's container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
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
	// privilegedMode runs the mover as root with just the capabilities that files of any owner take. It needs the Namespace
	// annotation kopiur.home-operations.com/privileged-movers.
	// +optional
	PrivilegedMode *bool `json:"privilegedMode,omitempty"`
	// inheritSecurityContextFrom names the pod whose user and groups the mover takes over where its own contexts set none.
	// +optional
	InheritSecurityContextFrom *InheritSecurityContextFrom `json:"inheritSecurityContextFrom,omitempty"`
	// ttlSecondsAfterFinished is how long the finished Job stays, 3600 where it is left out.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// Scratch sizes the volume that deep verification restores into.
type Scratch struct {
	// capacity of the volume; an emptyDir without a size of its own where it is left out.
	// +optional
	Capacity Quantity `json:"capacity,omitempty"`
	// storageClassName of the volume; the cluster's default where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
}

// ColocationMode says whether a mover is sent to the node that holds its ReadWriteOnce volume.
// +kubebuilder:validation:Enum=Auto;Required;Disabled
type ColocationMode string

// Colocation modes.
const (
	// ColocationAuto sends the mover there where the node can be found, and runs it anyway where it cannot.
	ColocationAuto ColocationMode = "Auto"
	// ColocationRequired waits until the node can be found.
	ColocationRequired ColocationMode = "Required"
	// ColocationDisabled leaves the choice to the scheduler.
	ColocationDisabled ColocationMode = "Disabled"
)

// SourceColocation says whether a mover is sent to the node that holds its ReadWriteOnce volume: a backup's source, or the
// claim that a Restore writes into.
type SourceColocation struct {
	// mode Auto (the default) sends the mover there where the node can be found; Required lets a backup wait until it can;
	// Disabled leaves the choice to the scheduler.
	// +optional
	Mode ColocationMode `json:"mode,omitempty"`
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
	Resources *Resources `json:"resources,omitempty"`
	// cache of the movers.
	// +optional
	Cache *CacheSpec `json:"cache,omitempty"`
	// scratch volume of deep verification.
	// +optional
	Scratch *Scratch `json:"scratch,omitempty"`
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
	// sourceColocation says whether a mover is sent to the node that holds its ReadWriteOnce volume.
	// +optional
	SourceColocation *SourceColocation `json:"sourceColocation,omitempty"`
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
