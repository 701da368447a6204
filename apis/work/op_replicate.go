// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Replicate copies the repository of the Spec, blob by blob, into another place. The copy has the same password and the
// same unique id. Credentials of both are below SourceSecretsDir and DestinationSecretsDir.
type Replicate struct {
	Destination Backend `json:"destination"`
	// Throttle limits the connection to the destination; the Repository's own limits that to the source.
	Throttle *Throttle `json:"throttle,omitempty"`
	// Parallel is how many blobs are copied at a time; zero means DefaultParallelBlobs.
	Parallel int `json:"parallel,omitempty"`
	// DeleteExtra deletes at the destination what the source does not hold any more.
	DeleteExtra bool `json:"deleteExtra,omitempty"`
	// MustExist refuses to begin a new copy.
	MustExist bool `json:"mustExist,omitempty"`
	// Times keeps the source's times where the destination can.
	Times bool `json:"times,omitempty"`
	// Update copies again what is newer at the source. Absent means true.
	Update *bool `json:"update,omitempty"`
}

// DefaultParallelBlobs is how many blobs a copy has in flight where nothing else is asked for.
const DefaultParallelBlobs = 8

// ReplicateResult describes a copy.
type ReplicateResult struct {
	UniqueID string `json:"uniqueID,omitempty"`
	// Fresh: the destination held nothing before.
	Fresh bool `json:"fresh,omitempty"`
	// BlobsTotal and BytesTotal are what the source holds; the destination was listed and holds it too.
	BlobsTotal   int64 `json:"blobsTotal"`
	BytesTotal   int64 `json:"bytesTotal"`
	BlobsCopied  int64 `json:"blobsCopied"`
	BytesCopied  int64 `json:"bytesCopied"`
	BlobsDeleted int64 `json:"blobsDeleted,omitempty"`
	BytesDeleted int64 `json:"bytesDeleted,omitempty"`
	// BlobsExtra are at the destination only, and were left there.
	BlobsExtra int64 `json:"blobsExtra,omitempty"`
}
