// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Where a mover finds its files. Secrets are mounted whole, one directory per Secret, so that a missing key is named by
// the mover and cannot wedge the pod.
const (
	// PasswordDir holds the repository password's Secret.
	PasswordDir = "/run/kopiur/repository/password"
	// AuthDir holds the backend's credential Secret.
	AuthDir = "/run/kopiur/repository/auth"
	// CADir holds the CA bundle's ConfigMap.
	CADir = "/run/kopiur/repository/ca"
	// SourceSecretsDir and DestinationSecretsDir take the place of the three above in an operation with two repositories:
	// each holds the folders SecretsPassword, SecretsAuth and SecretsCA, so that equal keys of two Secrets never meet.
	SourceSecretsDir      = "/run/kopiur/source"
	DestinationSecretsDir = "/run/kopiur/destination"
	SecretsPassword       = "password"
	SecretsAuth           = "auth"
	SecretsCA             = "ca"
	// SourceRepositoryDir and DestinationRepositoryDir are where two filesystem repositories of one operation are mounted,
	// whatever path each has elsewhere: they may be the same (J-11).
	SourceRepositoryDir      = "/repository/source"
	DestinationRepositoryDir = "/repository/destination"
	// StreamSocket is in a volume that the mover shares with the helper that runs a command.
	StreamSocket = "/run/kopiur/stream/mover.sock"
	// BrowseSocket is the mover's own; it is reached by running `mover browse` in its container.
	BrowseSocket = WorkDir + "/browse.sock"
	// UIAuthDir holds the Secret with the user name and password of the web interface.
	UIAuthDir = "/run/kopiur/ui/auth"
	// CacheDir is a volume of its own; logs never go there (G-2).
	CacheDir = "/var/cache/kopia"
	// WorkDir is memory-backed and holds kopia's connection file.
	WorkDir = "/run/kopiur/work"
	// SourceDir is where a source without a path of its own (an NFS export "/") is mounted.
	SourceDir = "/nfs"
	// TargetDir is where a restore's target is mounted.
	TargetDir = "/restore"
	// ScratchDir is where a deep verification restores to.
	ScratchDir = "/scratch"
	// ScratchData is the folder below it that holds what was restored, for a check of the user's own.
	ScratchData = "kopiur-restored"
	// SourceDevice and TargetDevice are where the block device of a source or target without a file system is.
	SourceDevice = "/dev/kopiur-source"
	TargetDevice = "/dev/kopiur-target"
	// TerminationPath is the container's terminationMessagePath.
	TerminationPath = "/dev/termination-log"
)

// Keys of the Secrets, by the names their users know.
const (
	DefaultPasswordKey    = "KOPIA_PASSWORD"
	KeyAWSAccessKeyID     = "AWS_ACCESS_KEY_ID"
	KeyAWSSecretAccessKey = "AWS_SECRET_ACCESS_KEY"
	KeyAWSSessionToken    = "AWS_SESSION_TOKEN"
	KeyAzureAccount       = "AZURE_STORAGE_ACCOUNT"
	KeyAzureKey           = "AZURE_STORAGE_KEY"
	KeyAzureSASToken      = "AZURE_STORAGE_SAS_TOKEN"
	KeyGCSCredentials     = "KOPIA_GCS_CREDENTIALS"
	KeyB2KeyID            = "B2_KEY_ID"
	KeyB2Key              = "B2_KEY"
	KeySFTPKeyData        = "KOPIA_SFTP_KEY_DATA"
	KeySFTPKnownHosts     = "KOPIA_SFTP_KNOWN_HOSTS"
	KeyWebDAVUsername     = "KOPIA_WEBDAV_USERNAME"
	KeyWebDAVPassword     = "KOPIA_WEBDAV_PASSWORD"
	KeyRcloneConfig       = "KOPIA_RCLONE_CONFIG"
	KeyGDriveCredentials  = "KOPIA_GDRIVE_CREDENTIALS"
	DefaultCAKey          = "ca.crt"
)

// Tags the mover writes on every snapshot.
const (
	// TagConfig holds the policy's name; kopia stores it under "tag:kopiur".
	TagConfig = "kopiur"
	// TagMeta holds RecordedMeta as JSON.
	TagMeta = "kopiur-meta"
	// TagRequest holds the Spec's RequestID.
	TagRequest = "kopiur-request"
)
