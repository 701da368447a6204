// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SFTPBackend keeps the repository in a folder of an SSH server.
type SFTPBackend struct {
	// host name or address of the server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// path of the folder on the server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	// port of the server, 22 where it is left out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// username to log in with.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Username string `json:"username,omitempty"`
	// auth to the server, by secretRef. Keys of the Secret: KOPIA_SFTP_KEY_DATA and KOPIA_SFTP_KNOWN_HOSTS.
	// +kubebuilder:validation:XValidation:rule="!has(self.workloadIdentity)",message="workloadIdentity works with s3, azure and gcs only; use auth.secretRef"
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// WebDAVBackend keeps the repository in a folder of a WebDAV server.
type WebDAVBackend struct {
	// url of the folder, https://host/path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]')",message="url must begin with https:// or http:// and name a host"
	URL string `json:"url"`
	// auth to the server, by secretRef. Keys of the Secret: KOPIA_WEBDAV_USERNAME and KOPIA_WEBDAV_PASSWORD.
	// +kubebuilder:validation:XValidation:rule="!has(self.workloadIdentity)",message="workloadIdentity works with s3, azure and gcs only; use auth.secretRef"
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// RcloneBackend keeps the repository behind a remote of rclone.
type RcloneBackend struct {
	// remotePath as remote:path, such as b2:bucket/kopia.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^:?[^:/]+:')",message="remotePath must be remote:path, such as b2:bucket/kopia"
	RemotePath string `json:"remotePath"`
	// configSecretRef names the Secret with rclone.conf under the key KOPIA_RCLONE_CONFIG.
	// +optional
	ConfigSecretRef *SecretRef `json:"configSecretRef,omitempty"`
	// startupTimeout until rclone serves, 15s where it is left out.
	// +optional
	StartupTimeout Duration `json:"startupTimeout,omitempty"`
}

// GDriveBackend keeps the repository in a folder of Google Drive.
type GDriveBackend struct {
	// folderId of the folder, from its address in the browser.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	FolderID string `json:"folderId"`
	// credentialsSecretRef names the Secret with the key KOPIA_GDRIVE_CREDENTIALS. Left out, the mover's environment has them.
	// +optional
	CredentialsSecretRef *SecretRef `json:"credentialsSecretRef,omitempty"`
}
