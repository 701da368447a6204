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
	// CacheDir is a volume of its own; logs never go there (G-2).
	CacheDir = "/var/cache/kopia"
	// WorkDir is memory-backed and holds kopia's connection file.
	WorkDir = "/run/kopiur/work"
	// SourceDir is where a source without a path of its own (an NFS export "/") is mounted.
	SourceDir = "/nfs"
	// TargetDir is where a restore's target is mounted.
	TargetDir = "/restore"
	// TerminationPath is the container's terminationMessagePath.
	TerminationPath = "/dev/termination-log"
)

// Keys of the Secrets, by the names their users know.
const (
	DefaultPasswordKey    = "KOPIA_PASSWORD"
	KeyAWSAccessKeyID     = "AWS_ACCESS_KEY_ID"
	KeyAWSSecretAccessKey = "AWS_SECRET_ACCESS_KEY"
	KeyAWSSessionToken    = "AWS_SESSION_TOKEN"
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
