// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Backend is where a repository is stored: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.filesystem) ? 1 : 0) + (has(self.s3) ? 1 : 0) == 1",message="backend must have exactly one of filesystem, s3"
type Backend struct {
	// filesystem keeps the repository in a folder of a volume.
	// +optional
	Filesystem *FilesystemBackend `json:"filesystem,omitempty"`
	// s3 keeps the repository in a bucket of an S3-compatible store.
	// +optional
	S3 *S3Backend `json:"s3,omitempty"`
}

// FilesystemBackend keeps the repository in a folder.
type FilesystemBackend struct {
	// path of the repository in the mover; the volume is mounted there.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains('..') && self.size() > 1",message="path must be absolute, below /, and must not contain .."
	Path string `json:"path"`
	// volume that holds the repository. Left out, path is a directory of the node (hostPath), which needs the Namespace
	// annotation kopiur.home-operations.com/privileged-movers.
	// +optional
	Volume *RepositoryVolume `json:"volume,omitempty"`
}

// RepositoryVolume holds a filesystem repository: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.pvc) ? 1 : 0) + (has(self.nfs) ? 1 : 0) == 1",message="volume must have exactly one of pvc, nfs"
type RepositoryVolume struct {
	// pvc is a claim in the namespace where the mover runs.
	// +optional
	PVC *LocalRef `json:"pvc,omitempty"`
	// nfs is an export that the node mounts.
	// +optional
	NFS *NFSVolume `json:"nfs,omitempty"`
}

// NFSVolume is an NFS export.
type NFSVolume struct {
	// server is the host name or address of the NFS server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Server string `json:"server"`
	// path of the export.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path must be absolute"
	Path string `json:"path"`
}

// S3Backend keeps the repository in a bucket.
type S3Backend struct {
	// bucket that holds the repository; it must exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Bucket string `json:"bucket"`
	// prefix of all object names, used as it stands: no slash is added.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// endpoint as host or host:port; Amazon's where it is left out.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-z]+://') && !self.contains('/')",message="endpoint must be host or host:port, without a scheme and without a path; use tls.disableTls for plain HTTP"
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// region of the bucket.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Region string `json:"region,omitempty"`
	// tls settings of the connection.
	// +optional
	TLS *S3TLS `json:"tls,omitempty"`
	// auth to the store.
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// S3TLS shapes the connection to an S3 endpoint.
type S3TLS struct {
	// caBundleRef names a ConfigMap with the CA certificates to trust.
	// +optional
	CABundleRef *CABundleRef `json:"caBundleRef,omitempty"`
	// disableTls speaks plain HTTP.
	// +optional
	DisableTLS bool `json:"disableTls,omitempty"`
	// insecureSkipVerify does not check the server's certificate.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// CABundleRef names a ConfigMap key with PEM certificates.
type CABundleRef struct {
	// configMapName of the ConfigMap, in the namespace of the credentials.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// key below data, ca.crt where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// BackendAuth says where the credentials come from: at most one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.secretRef) ? 1 : 0) + (has(self.workloadIdentity) ? 1 : 0) <= 1",message="auth must have at most one of secretRef, workloadIdentity"
type BackendAuth struct {
	// secretRef names the Secret with the keys AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, optionally, AWS_SESSION_TOKEN.
	// +optional
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// workloadIdentity runs the movers under a ServiceAccount that the cloud trusts.
	// +optional
	WorkloadIdentity *WorkloadIdentity `json:"workloadIdentity,omitempty"`
}

// WorkloadIdentity names a ServiceAccount that the cloud trusts.
type WorkloadIdentity struct {
	// serviceAccountName in the namespace where the mover runs. You create it, with your cloud's annotations.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName"`
}
