// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Bootstrap connects, and creates the repository where that is allowed and the store is proven empty. It leaves the
// repository as Kopiur wants it and says how it is.
type Bootstrap struct {
	// Create is absent where the repository must exist already.
	Create *Create `json:"create,omitempty"`
	// Parameters are changed where they differ; what is absent is left alone.
	Parameters *Parameters `json:"parameters,omitempty"`
	// Owner says whose maintenance ownership is taken over; absent, only a repository without an owner gets one.
	Owner *OwnerRule `json:"owner,omitempty"`
	// Keep are identities that Kopiur manages: kopia must never prune what is filed under them (K-11). A backup sees to its
	// own; these are for what other clients may do before the first one.
	Keep []Identity `json:"keep,omitempty"`
	// Catalog asks for all complete snapshots, in pages on standard output.
	Catalog *Catalog `json:"catalog,omitempty"`
}

// Create holds the parameters that are fixed when a repository is created. Empty means Kopiur's default.
type Create struct {
	Splitter           string `json:"splitter,omitempty"`
	Hash               string `json:"hash,omitempty"`
	Encryption         string `json:"encryption,omitempty"`
	ECCAlgorithm       string `json:"eccAlgorithm,omitempty"`
	ECCOverheadPercent int    `json:"eccOverheadPercent,omitempty"`
}

// Parameters are those of a repository that can be changed later.
type Parameters struct {
	Epoch         *Epoch         `json:"epoch,omitempty"`
	BlobRetention *BlobRetention `json:"blobRetention,omitempty"`
}

// Epoch decides how many index blobs there are (C-8, C-10). Zero means leave alone.
type Epoch struct {
	MinDurationSeconds      int64 `json:"minDurationSeconds,omitempty"`
	RefreshFrequencySeconds int64 `json:"refreshFrequencySeconds,omitempty"`
	AdvanceOnCount          int64 `json:"advanceOnCount,omitempty"`
	AdvanceOnSizeMiB        int64 `json:"advanceOnSizeMiB,omitempty"`
	CheckpointFrequency     int64 `json:"checkpointFrequency,omitempty"`
	DeleteParallelism       int64 `json:"deleteParallelism,omitempty"`
}

// RetentionMode is how a store locks objects (D-11).
type RetentionMode string

// Modes of object lock.
const (
	RetentionGovernance RetentionMode = "governance"
	RetentionCompliance RetentionMode = "compliance"
	// RetentionDisabled locks no further blob; those that are locked stay so until their time.
	RetentionDisabled RetentionMode = "disabled"
)

// BlobRetention locks every blob for a time after it was written.
type BlobRetention struct {
	Mode          RetentionMode `json:"mode"`
	PeriodSeconds int64         `json:"periodSeconds,omitempty"`
}

// OwnerRule says whose ownership of maintenance this client may take over. Its own name is Repository's user@host.
type OwnerRule struct {
	// Aliases are earlier names of this client, as user@host.
	Aliases []string `json:"aliases,omitempty"`
	// Anyone takes it over from whoever has it.
	Anyone bool `json:"anyone,omitempty"`
}

// Catalog asks for a list that may be longer than one mover can say: MaxStreamBytes bounds what it writes. The next
// mover goes on after what this one said. Where the number of a page is missing, what follows the gap is worth nothing;
// the cursor of the page before it is where to go on.
type Catalog struct {
	// After is the cursor of the last page that arrived, "" for the beginning.
	After Cursor `json:"after,omitempty"`
}

// Cursor is a place in a catalog. Only the mover knows what it means.
type Cursor string

// MaxDescriptionBytes is how much of a snapshot's description a catalog shows.
const MaxDescriptionBytes = 1024

// CatalogEntry is one complete snapshot, ordered by the time it started. A list that was continued may name the same
// one twice.
type CatalogEntry struct {
	SnapshotID  string            `json:"snapshotID"`
	Identity    Identity          `json:"identity"`
	StartTime   time.Time         `json:"startTime"`
	EndTime     time.Time         `json:"endTime,omitzero"`
	SizeBytes   int64             `json:"sizeBytes"`
	FileCount   int64             `json:"fileCount"`
	Description string            `json:"description,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Pinned      bool              `json:"pinned,omitempty"`
	// FilesFailed counts entries that could not be read and that the policy did not tolerate (K-4).
	FilesFailed int64 `json:"filesFailed,omitempty"`
}

// BootstrapResult describes the repository that was connected to.
type BootstrapResult struct {
	UniqueID string `json:"uniqueID"`
	Created  bool   `json:"created,omitempty"`
	// ConnectSeconds is how long the open took (C-4).
	ConnectSeconds float64 `json:"connectSeconds"`
	SnapshotCount  int64   `json:"snapshotCount"`
	// Unreadable counts snapshots whose manifest cannot be decoded. They exist, so a catalog beside it proves no absence.
	Unreadable int64 `json:"unreadable,omitempty"`
	// TotalBytes is the sum of the newest complete snapshot of every source.
	TotalBytes     int64 `json:"totalBytes"`
	IndexBlobCount int64 `json:"indexBlobCount"`
	IndexBlobBytes int64 `json:"indexBlobBytes,omitempty"`
	// Owner is whom kopia lets run maintenance, PreviousOwner whom it was taken over from by this very bootstrap.
	Owner         string `json:"owner,omitempty"`
	PreviousOwner string `json:"previousOwner,omitempty"`
	// Parameters are read back from the store after they were applied (C-10).
	Parameters *ParametersState `json:"parameters,omitempty"`
	Catalog    *CatalogResult   `json:"catalog,omitempty"`
	Clock      *Clock           `json:"clock,omitempty"`
}

// ParametersState is what a repository has.
type ParametersState struct {
	Epoch         EpochState          `json:"epoch"`
	BlobRetention *BlobRetentionState `json:"blobRetention,omitempty"`
}

// EpochState is what a repository has. One of an old format has no epochs at all.
type EpochState struct {
	Enabled                    bool  `json:"enabled"`
	MinDurationSeconds         int64 `json:"minDurationSeconds"`
	RefreshFrequencySeconds    int64 `json:"refreshFrequencySeconds"`
	AdvanceOnCount             int64 `json:"advanceOnCount"`
	AdvanceOnSizeMiB           int64 `json:"advanceOnSizeMiB"`
	CheckpointFrequency        int64 `json:"checkpointFrequency"`
	DeleteParallelism          int64 `json:"deleteParallelism"`
	CleanupSafetyMarginSeconds int64 `json:"cleanupSafetyMarginSeconds"`
}

// BlobRetentionState is what a repository has; absent where blobs are not locked.
type BlobRetentionState struct {
	Mode          RetentionMode `json:"mode"`
	PeriodSeconds int64         `json:"periodSeconds"`
}

// CatalogResult says how to know that all pages arrived.
type CatalogResult struct {
	// Pages and Entries count what this mover wrote.
	Pages   int   `json:"pages"`
	Entries int64 `json:"entries"`
	// Next is the cursor to go on with, "" at the end of the list.
	Next Cursor `json:"next,omitempty"`
}

// Clock is the same moment on two clocks. It is absent where the store's cannot be read.
type Clock struct {
	Mover time.Time `json:"mover"`
	Store time.Time `json:"store"`
}
