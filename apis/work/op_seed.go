// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Seed fills the repository of the Spec, which does not exist yet, from another one. It never touches a repository that
// exists, except one that an earlier, killed attempt of the same seed began. Exactly one of Blob and Migrate is set.
// Credentials of both sides are below SourceSecretsDir and DestinationSecretsDir.
type Seed struct {
	Blob    *SeedBlob    `json:"blob,omitempty"`
	Migrate *SeedMigrate `json:"migrate,omitempty"`
	// AllowEmptySource takes a source without snapshots, or without a repository, for a reason to begin with nothing.
	AllowEmptySource bool `json:"allowEmptySource,omitempty"`
}

// SeedBlob copies a repository as it is: the new one has its password, format and unique id.
type SeedBlob struct {
	Source Backend `json:"source"`
	// Throttle limits the connection to the source; the Repository's own limits that to the destination.
	Throttle *Throttle `json:"throttle,omitempty"`
	// Parallel is how many blobs are copied at a time; zero means DefaultParallelBlobs.
	Parallel int `json:"parallel,omitempty"`
}

// SeedMigrate creates a repository and copies every complete snapshot into it.
type SeedMigrate struct {
	Source     Repository      `json:"source"`
	Create     Create          `json:"create,omitzero"`
	LatestOnly bool            `json:"latestOnly,omitempty"`
	Parallel   int             `json:"parallel,omitempty"`
	Policies   MigratePolicies `json:"policies,omitempty"`
}

// SeedResult describes the repository after a seed.
type SeedResult struct {
	// UniqueID is that of the repository now; empty where none was made.
	UniqueID string `json:"uniqueID,omitempty"`
	// AlreadyInitialized: a repository was there, and was left as it is.
	AlreadyInitialized bool `json:"alreadyInitialized,omitempty"`
	// LeftEmpty: the source held nothing, which was allowed; the location is as it was.
	LeftEmpty bool `json:"leftEmpty,omitempty"`
	// Resumed: an earlier attempt had begun.
	Resumed bool `json:"resumed,omitempty"`
	// SnapshotCount is how many complete snapshots the repository holds now.
	SnapshotCount   int64 `json:"snapshotCount"`
	SnapshotsCopied int64 `json:"snapshotsCopied,omitempty"`
	BlobsCopied     int64 `json:"blobsCopied,omitempty"`
	BytesCopied     int64 `json:"bytesCopied,omitempty"`
}
