// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
	IgnoreRules []string `json:"ignoreRules,omitzero"`
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
	// maxParallelSnapshots is how many movers of this policy run at a time; not limited where it is left out or 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxParallelSnapshots int32 `json:"maxParallelSnapshots,omitempty"`
	// maxParallelFileReads within one run; kopia's own number where it is left out or 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256
	// +optional
	MaxParallelFileReads int32 `json:"maxParallelFileReads,omitempty"`
	// limitMb ends the run after that many MB were uploaded; what is stored is kept as a checkpoint and the next run goes on.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitMB int64 `json:"limitMb,omitempty"`
}

// PolicyDeletion says what becomes of the Snapshots of a policy that is deleted.
type PolicyDeletion struct {
	// onPolicyDelete Retain keeps the data of the policy's Snapshots; Delete deletes it with them.
	// +kubebuilder:default=Retain
	// +optional
	OnPolicyDelete CascadePolicy `json:"onPolicyDelete,omitempty"`
}

// Preflight lists what must be true before a run starts.
type Preflight struct {
	// checks that all have to pass. While one does not, the Snapshot waits.
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	Checks []PreflightCheck `json:"checks,omitempty"`
	// timeout of the wait, 10m where it is left out; 0 waits for ever.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
}

// PreflightCheck is one condition on the state of the cluster.
type PreflightCheck struct {
	// name of the check, unique in its list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expr is a CEL expression that gives true or false.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Expr string `json:"expr"`
	// message says what to do where the check does not pass.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}
