// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CopyMethod says what the mover reads.
// +kubebuilder:validation:Enum=Snapshot;Clone;Direct
type CopyMethod string

// Copy methods.
const (
	// CopySnapshot reads a claim made from a VolumeSnapshot: one point in time, never the live volume.
	CopySnapshot CopyMethod = "Snapshot"
	// CopyClone reads a claim cloned from the live one by its CSI driver.
	CopyClone CopyMethod = "Clone"
	// CopyDirect reads the live volume while the application may write.
	CopyDirect CopyMethod = "Direct"
)

// GroupBy says whether the claims of one run are cut at the same instant.
// +kubebuilder:validation:Enum=VolumeGroupSnapshot;None
type GroupBy string

// Groupings.
const (
	// GroupByVolumeGroupSnapshot cuts all claims of a run at one instant.
	GroupByVolumeGroupSnapshot GroupBy = "VolumeGroupSnapshot"
	// GroupByNone cuts each claim for itself.
	GroupByNone GroupBy = "None"
)

// SourcePathStrategy names the source path of a claim.
// +kubebuilder:validation:Enum=PvcName;PvcNamespacedName
type SourcePathStrategy string

// Source path strategies.
const (
	SourcePathPVCName           SourcePathStrategy = "PvcName"
	SourcePathPVCNamespacedName SourcePathStrategy = "PvcNamespacedName"
)

// Source is one thing to back up: exactly one of pvc, pvcSelector, nfs and stream is set.
// +kubebuilder:validation:XValidation:rule="(has(self.pvc) ? 1 : 0) + (has(self.pvcSelector) ? 1 : 0) + (has(self.nfs) ? 1 : 0) + (has(self.stream) ? 1 : 0) == 1",message="a source must have exactly one of pvc, pvcSelector, nfs, stream"
type Source struct {
	// pvc is a claim in the policy's namespace.
	// +optional
	PVC *LocalRef `json:"pvc,omitempty"`
	// pvcSelector selects claims by their labels; each gets a Snapshot of its own.
	// +optional
	PVCSelector *PVCSelector `json:"pvcSelector,omitempty"`
	// nfs is an export that is mounted for the mover only.
	// +optional
	NFS *NFSVolume `json:"nfs,omitempty"`
	// stream stores what a command in a pod prints. It must be the only source.
	// +optional
	Stream *StreamSource `json:"stream,omitempty"`
	// readOnly mounts the source read-only at the volume and at the mount. false lets the kubelet apply the pod's fsGroup
	// to a staged copy, which changes the group and mode that are stored.
	// +kubebuilder:default=true
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
	// acknowledgeLiveMutation is needed to mount a live volume (copyMethod Direct) with readOnly false: the kubelet then
	// changes the groups of the files of the application.
	// +optional
	AcknowledgeLiveMutation bool `json:"acknowledgeLiveMutation,omitempty"`
	// pvcPublicationReadOnly false publishes the claim to the node read-write, for CSI drivers that cannot attach
	// read-only; the container still mounts it read-only. For one claim with copyMethod Direct, and only with
	// acknowledgeReadWritePublication.
	// +optional
	PVCPublicationReadOnly *bool `json:"pvcPublicationReadOnly,omitempty"`
	// acknowledgeReadWritePublication is needed for pvcPublicationReadOnly false.
	// +optional
	AcknowledgeReadWritePublication bool `json:"acknowledgeReadWritePublication,omitempty"`
	// sourcePathOverride is the path the snapshots are filed under, in place of the one sourcePathStrategy gives.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SourcePathOverride string `json:"sourcePathOverride,omitempty"`
	// sourcePathStrategy names the path: /pvc/<name> or /pvc/<namespace>/<name>.
	// +kubebuilder:default=PvcName
	// +optional
	SourcePathStrategy SourcePathStrategy `json:"sourcePathStrategy,omitempty"`
}

// PVCSelector selects claims.
type PVCSelector struct {
	// labelSelector over the labels of claims. Left out or empty, it selects every claim of the namespace that Kopiur did
	// not make itself.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// namespaceSelector names the namespaces of the claims: the policy's own, and no other.
	// +optional
	NamespaceSelector *NamespaceSelector `json:"namespaceSelector,omitempty"`
}

// NamespaceSelector names namespaces.
type NamespaceSelector struct {
	// matchNames lists namespaces by name.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	MatchNames []string `json:"matchNames,omitempty"`
}

// StreamSource is the output of a command, stored as one file.
type StreamSource struct {
	// fileName of the stored file: a single name without a slash. The snapshots are filed under /stream/<fileName>.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self != '.' && self != '..' && !self.contains('/')",message="fileName must be a single name: no slash, not . or .."
	FileName string `json:"fileName"`
	// workloadExec is the command whose standard output is stored. The snapshot is made only if it ends with 0. The
	// Namespace has to be annotated with kopiur.home-operations.com/stream-exec-movers.
	WorkloadExec WorkloadExec `json:"workloadExec"`
}

// Staging shapes the claim that copyMethod Snapshot and Clone read.
type Staging struct {
	// timeout of each step of the staging, 10m where it is left out; 0 waits for ever.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// storageClassName of the staged claim, the source's own where it is left out. Its driver must be the same.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// accessModes of the staged claim, the source's own where they are left out.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadOnlyMany;ReadWriteMany;ReadWriteOncePod
	// +listType=set
	// +optional
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
}
