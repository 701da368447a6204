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

// SourcePathStrategy names the source path of a claim.
// +kubebuilder:validation:Enum=PvcName;PvcNamespacedName
type SourcePathStrategy string

// Source path strategies.
const (
	SourcePathPVCName           SourcePathStrategy = "PvcName"
	SourcePathPVCNamespacedName SourcePathStrategy = "PvcNamespacedName"
)

// Source is one thing to back up: exactly one of its union fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.pvc) ? 1 : 0) == 1",message="a source must have exactly one of pvc"
type Source struct {
	// pvc is a claim in the policy's namespace.
	// +optional
	PVC *LocalRef `json:"pvc,omitempty"`
	// readOnly mounts the source read-only at the volume and at the mount. false lets the kubelet apply the pod's fsGroup
	// to a staged copy, which changes the group and mode that are stored.
	// +kubebuilder:default=true
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
	// acknowledgeLiveMutation is needed to mount a live volume (copyMethod Direct) with readOnly false: the kubelet then
	// changes the groups of the files of the application.
	// +optional
	AcknowledgeLiveMutation bool `json:"acknowledgeLiveMutation,omitempty"`
	// sourcePathOverride is the path the snapshots are filed under, in place of the one sourcePathStrategy gives.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SourcePathOverride string `json:"sourcePathOverride,omitempty"`
	// sourcePathStrategy names the path: /pvc/<name> or /pvc/<namespace>/<name>.
	// +kubebuilder:default=PvcName
	// +optional
	SourcePathStrategy SourcePathStrategy `json:"sourcePathStrategy,omitempty"`
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

// PolicyIdentity overrides parts of the identity that snapshots are filed under.
type PolicyIdentity struct {
	// username; the policy's name where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^@:\s]*$`
	// +optional
	Username string `json:"username,omitempty"`
	// hostname; the policy's namespace where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^@:\s]*$`
	// +optional
	Hostname string `json:"hostname,omitempty"`
}

// Compression of new contents.
type Compression struct {
	// compressor by kopia's name, zstd-fastest where it is left out; none turns compression off.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Compressor string `json:"compressor,omitempty"`
	// neverCompress lists file name suffixes such as .jpg.
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	NeverCompress []string `json:"neverCompress,omitempty"`
}

// Files says which files are stored.
type Files struct {
	// ignoreRules in the syntax of .gitignore. An empty list stores everything.
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:default={"/lost+found","System Volume Information","$RECYCLE.BIN","@eaDir",".snapshot"}
	// +listType=atomic
	// +optional
	IgnoreRules []string `json:"ignoreRules"`
	// ignoreCacheDirs leaves out directories with a CACHEDIR.TAG; kopia's default is true.
	// +optional
	IgnoreCacheDirs *bool `json:"ignoreCacheDirs,omitempty"`
	// ignoreIdenticalSnapshots stores nothing where the source equals the previous snapshot; the Snapshot is then Unchanged.
	// +optional
	IgnoreIdenticalSnapshots bool `json:"ignoreIdenticalSnapshots,omitempty"`
}

// ErrorHandling says what a run tolerates.
type ErrorHandling struct {
	// ignoreFileErrors tolerates files that cannot be read; they are counted and named in the Snapshot's status.
	// +optional
	IgnoreFileErrors bool `json:"ignoreFileErrors,omitempty"`
	// ignoreDirErrors tolerates directories that cannot be read.
	// +optional
	IgnoreDirErrors bool `json:"ignoreDirErrors,omitempty"`
	// ignoreUnknownTypes tolerates entries kopia cannot store, such as sockets; true where it is left out.
	// +optional
	IgnoreUnknownTypes *bool `json:"ignoreUnknownTypes,omitempty"`
	// failFast ends the run at the first entry that cannot be read.
	// +optional
	FailFast bool `json:"failFast,omitempty"`
}

// Upload bounds a run.
type Upload struct {
	// maxParallelFileReads within one run.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	MaxParallelFileReads int32 `json:"maxParallelFileReads,omitempty"`
	// limitMb ends the run after that many MB were uploaded; what is stored is kept as a checkpoint and the next run goes on.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitMB int64 `json:"limitMb,omitempty"`
}

// SnapshotPolicySpec says what is backed up, and how.
type SnapshotPolicySpec struct {
	// repository that takes the snapshots.
	Repository RepositoryRef `json:"repository"`
	// sources to back up.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
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
	// staging shapes the claim that copyMethod Snapshot and Clone read.
	// +optional
	Staging *Staging `json:"staging,omitempty"`
	// identity that snapshots are filed under.
	// +optional
	Identity *PolicyIdentity `json:"identity,omitempty"`
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
	// mover shapes the movers of this policy.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// suspend stops new runs.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ResolvedSource is one source as it stands now.
type ResolvedSource struct {
	// pvc as namespace/name.
	PVC string `json:"pvc"`
	// sourcePath its snapshots are filed under.
	SourcePath string `json:"sourcePath"`
}

// PolicyResolved is what the policy's references lead to.
type PolicyResolved struct {
	// identity without the path.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
	// sources with their paths.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Sources []ResolvedSource `json:"sources,omitempty"`
}

// SnapshotPolicyStatus is what Kopiur found.
type SnapshotPolicyStatus struct {
	// conditions of the policy.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// resolved references.
	// +optional
	Resolved *PolicyResolved `json:"resolved,omitempty"`
	// repositorySummary is the repository for people.
	// +optional
	RepositorySummary string `json:"repositorySummary,omitempty"`
	// lastSuccessfulSnapshot is the end time of the newest successful Snapshot.
	// +optional
	LastSuccessfulSnapshot string `json:"lastSuccessfulSnapshot,omitempty"`
}

// SnapshotPolicy says what is backed up, and how. A Snapshot that names it makes one backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=snapshotpolicies,shortName=kopiasp,categories=kopiur
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository.name`
// +kubebuilder:printcolumn:name="Last-Snapshot",type=string,JSONPath=`.status.lastSuccessfulSnapshot`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
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
