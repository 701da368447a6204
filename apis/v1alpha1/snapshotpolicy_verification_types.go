// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Verification proves that what was stored can be read back.
type Verification struct {
	// quick compares the indexes with the store and reads a part of the files.
	// +optional
	Quick *QuickVerification `json:"quick,omitempty"`
	// deep restores the newest snapshot to a scratch volume and discards it.
	// +optional
	Deep *DeepVerification `json:"deep,omitempty"`
	// successExpr is a CEL expression that must give true for a verification to count, besides the absence of errors.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	SuccessExpr string `json:"successExpr,omitempty"`
	// verifyFilesPercent of the files are read in full by a quick verification; 100 and more are all of them.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	// +optional
	VerifyFilesPercent int32 `json:"verifyFilesPercent,omitempty"`
}

// QuickVerification shapes the quick verification.
type QuickVerification struct {
	// schedule of the verification.
	// +optional
	Schedule *CronSpec `json:"schedule,omitempty"`
	// parallel is how many things are verified at a time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	// +optional
	Parallel int32 `json:"parallel,omitempty"`
	// fileParallelism is how many files are read at a time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	// +optional
	FileParallelism int32 `json:"fileParallelism,omitempty"`
	// fileQueueLength is how many files wait to be read.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000000
	// +optional
	FileQueueLength int32 `json:"fileQueueLength,omitempty"`
	// maxErrors ends the verification after that many errors; 0 never does.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MaxErrors int32 `json:"maxErrors,omitempty"`
}

// DeepVerification shapes the deep verification.
type DeepVerification struct {
	// schedule of the verification.
	Schedule CronSpec `json:"schedule"`
	// capacity of the scratch volume; that of the repository's moverDefaults.scratch where it is left out, an emptyDir
	// without a size of its own where both are.
	// +optional
	Capacity Quantity `json:"capacity,omitempty"`
	// storageClassName of the scratch volume; the repository's moverDefaults, else the cluster's default, where it is left
	// out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// parallel is how many files are restored at a time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	// +optional
	Parallel int32 `json:"parallel,omitempty"`
	// check runs a program of yours against the restored files.
	// +optional
	Check *DeepCheck `json:"check,omitempty"`
}

// DeepCheck is a container that sees the restored files, read-only; it passes with exit code 0.
type DeepCheck struct {
	// image of the container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image"`
	// command of the container; the image's own where it is left out.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// args of the command.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// timeout of the check, 10m where it is left out.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// resources of the container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	// securityContext of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}
