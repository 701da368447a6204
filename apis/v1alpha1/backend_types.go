// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Backend is where a repository is stored: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.s3) ? 1 : 0) + (has(self.azure) ? 1 : 0) + (has(self.gcs) ? 1 : 0) + (has(self.b2) ? 1 : 0) + (has(self.filesystem) ? 1 : 0) + (has(self.sftp) ? 1 : 0) + (has(self.webDav) ? 1 : 0) + (has(self.rclone) ? 1 : 0) + (has(self.gdrive) ? 1 : 0) == 1",message="backend must have exactly one of s3, azure, gcs, b2, filesystem, sftp, webDav, rclone, gdrive"
type Backend struct {
	// s3 is a bucket of an S3-compatible store.
	// +optional
	S3 *S3Backend `json:"s3,omitempty"`
	// azure is a container of Azure Blob Storage.
	// +optional
	Azure *AzureBackend `json:"azure,omitempty"`
	// gcs is a bucket of Google Cloud Storage.
	// +optional
	GCS *GCSBackend `json:"gcs,omitempty"`
	// b2 is a bucket of Backblaze B2.
	// +optional
	B2 *B2Backend `json:"b2,omitempty"`
	// filesystem is a folder of a volume.
	// +optional
	Filesystem *FilesystemBackend `json:"filesystem,omitempty"`
	// sftp is a folder of an SSH server.
	// +optional
	SFTP *SFTPBackend `json:"sftp,omitempty"`
	// webDav is a folder of a WebDAV server.
	// +optional
	WebDAV *WebDAVBackend `json:"webDav,omitempty"`
	// rclone is a remote of rclone.
	// +optional
	Rclone *RcloneBackend `json:"rclone,omitempty"`
	// gdrive is a folder of Google Drive; kopia calls it experimental.
	// +optional
	GDrive *GDriveBackend `json:"gdrive,omitempty"`
}

// FilesystemBackend keeps the repository in a folder.
type FilesystemBackend struct {
	// path of the repository in the mover; the volume is mounted there.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)') && self.size() > 1",message="path must be absolute, below /, and must not have .. in it"
	Path string `json:"path"`
	// volume of the repository. Left out, path is on the node (hostPath), which needs the Namespace annotation
	// kopiur.home-operations.com/privileged-movers.
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

// BackendAuth says where the credentials come from: at most one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.secretRef) ? 1 : 0) + (has(self.workloadIdentity) ? 1 : 0) <= 1",message="auth must have at most one of secretRef, workloadIdentity"
type BackendAuth struct {
	// secretRef names the Secret with the credentials; the backend says which keys it has.
	// +optional
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// workloadIdentity runs the movers under a ServiceAccount that the cloud trusts; for s3, azure and gcs only.
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
