// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Backend is exactly one storage. Keys come from AuthDir, see paths.go for their names. A backend with AmbientCredentials
// has no Secret: it leaves the keys to what the cloud gave the pod (workload identity), or needs none.
type Backend struct {
	Filesystem *Filesystem `json:"filesystem,omitempty"`
	S3         *S3         `json:"s3,omitempty"`
	Azure      *Azure      `json:"azure,omitempty"`
	GCS        *GCS        `json:"gcs,omitempty"`
	B2         *B2         `json:"b2,omitempty"`
	SFTP       *SFTP       `json:"sftp,omitempty"`
	WebDAV     *WebDAV     `json:"webDav,omitempty"`
	Rclone     *Rclone     `json:"rclone,omitempty"`
	GDrive     *GDrive     `json:"gdrive,omitempty"`
}

// Filesystem is a folder of the mover's file system.
type Filesystem struct {
	Path string `json:"path"`
}

// S3 is a bucket, or the part of it below Prefix. Keys come from AuthDir by the names of the AWS tools.
type S3 struct {
	Bucket string `json:"bucket"`
	// Prefix goes to kopia byte for byte.
	Prefix string `json:"prefix,omitempty"`
	// Endpoint is host[:port].
	Endpoint           string `json:"endpoint,omitempty"`
	Region             string `json:"region,omitempty"`
	DisableTLS         bool   `json:"disableTLS,omitempty"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify,omitempty"`
	// CAKey is the file name of the CA bundle below CADir.
	CAKey string `json:"caKey,omitempty"`
	// AmbientCredentials leaves the keys to the cloud's own chain (workload identity); AuthDir is not read.
	AmbientCredentials bool `json:"ambientCredentials,omitempty"`
}

// Azure is a container, or the part of it below Prefix.
type Azure struct {
	Container string `json:"container"`
	// Prefix goes to kopia byte for byte.
	Prefix string `json:"prefix,omitempty"`
	// StorageAccount is in the Secret where it is left out.
	StorageAccount     string `json:"storageAccount,omitempty"`
	StorageDomain      string `json:"storageDomain,omitempty"`
	AmbientCredentials bool   `json:"ambientCredentials,omitempty"`
}

// GCS is a bucket of Google's, or the part of it below Prefix.
type GCS struct {
	Bucket string `json:"bucket"`
	// Prefix goes to kopia byte for byte.
	Prefix             string `json:"prefix,omitempty"`
	AmbientCredentials bool   `json:"ambientCredentials,omitempty"`
}

// B2 is a bucket of Backblaze's, or the part of it below Prefix.
type B2 struct {
	Bucket string `json:"bucket"`
	// Prefix goes to kopia byte for byte.
	Prefix string `json:"prefix,omitempty"`
}

// SFTP is a folder of an SSH server.
type SFTP struct {
	Host string `json:"host"`
	// Port is 22 where it is left out.
	Port     int32  `json:"port,omitempty"`
	Path     string `json:"path"`
	Username string `json:"username,omitempty"`
}

// WebDAV is a folder of a WebDAV server.
type WebDAV struct {
	URL                string `json:"url"`
	AmbientCredentials bool   `json:"ambientCredentials,omitempty"`
}

// Rclone is a folder of one of rclone's remotes.
type Rclone struct {
	// RemotePath is remote:path.
	RemotePath string `json:"remotePath"`
	// StartupTimeoutSeconds bounds rclone's start; kopia's own 15 s apply where it is left out.
	StartupTimeoutSeconds int64 `json:"startupTimeoutSeconds,omitempty"`
	AmbientCredentials    bool  `json:"ambientCredentials,omitempty"`
}

// GDrive is a folder of Google Drive.
type GDrive struct {
	FolderID           string `json:"folderID"`
	AmbientCredentials bool   `json:"ambientCredentials,omitempty"`
}
