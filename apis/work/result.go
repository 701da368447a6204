// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Result is the answer of one mover. It has to fit into a termination message, so it holds ids, counters and one
// sentence; lists go to the event stream, except the few paths a user needs at once.
type Result struct {
	APIVersion string `json:"apiVersion"`
	Operation  string `json:"operation"`
	Code       Code   `json:"code"`
	// Message is one sentence for the user, without anything secret or volatile (J-6).
	Message string `json:"message,omitempty"`
	// Warning is one sentence about what went on all the same and should be put right: a cache that cannot be used.
	Warning string `json:"warning,omitempty"`
	// StartTime and EndTime are the mover's own clock.
	StartTime time.Time `json:"startTime,omitzero"`
	EndTime   time.Time `json:"endTime,omitzero"`

	Bootstrap *BootstrapResult `json:"bootstrap,omitempty"`
	Snapshot  *SnapshotResult  `json:"snapshot,omitempty"`
	Resolve   *ResolveResult   `json:"resolve,omitempty"`
	Restore   *RestoreResult   `json:"restore,omitempty"`
	Delete    *DeleteResult    `json:"delete,omitempty"`
	Pin       *PinResult       `json:"pin,omitempty"`
	Verify    *VerifyResult    `json:"verify,omitempty"`
	Maintain  *MaintainResult  `json:"maintain,omitempty"`

	Replicate     *ReplicateResult     `json:"replicate,omitempty"`
	Migrate       *MigrateResult       `json:"migrate,omitempty"`
	Seed          *SeedResult          `json:"seed,omitempty"`
	Browse        *BrowseResult        `json:"browse,omitempty"`
	StreamRestore *StreamRestoreResult `json:"streamRestore,omitempty"`
}

// SnapshotResult describes what a Snapshot or a StreamSnapshot stored.
type SnapshotResult struct {
	// SnapshotID is empty where nothing was stored.
	SnapshotID string    `json:"snapshotID,omitempty"`
	RootID     string    `json:"rootID,omitempty"`
	StartTime  time.Time `json:"startTime,omitzero"`
	EndTime    time.Time `json:"endTime,omitzero"`
	// Unchanged: the source equals the previous snapshot and the policy asked not to store it again.
	Unchanged bool `json:"unchanged,omitempty"`
	// Found: an earlier attempt of the same request had stored it already.
	Found bool `json:"found,omitempty"`
	// Pinned: what is stored has Kopiur's pin.
	Pinned bool `json:"pinned,omitempty"`

	SizeBytes      int64 `json:"sizeBytes"`
	FileCount      int64 `json:"fileCount"`
	DirCount       int64 `json:"dirCount"`
	BytesNew       int64 `json:"bytesNew"`
	FilesNew       int64 `json:"filesNew"`
	FilesModified  int64 `json:"filesModified"`
	FilesUnchanged int64 `json:"filesUnchanged"`
	// FilesFailed counts the entries that are missing from the snapshot because they could not be read.
	FilesFailed int64 `json:"filesFailed,omitempty"`
	// BytesUploaded is what went to the store, after deduplication and compression.
	BytesUploaded int64 `json:"bytesUploaded"`
	// Unstored counts what kopia does not keep.
	Unstored *Unstored `json:"unstored,omitempty"`
}

// Unstored counts source entries, or facts about them, that are not in the snapshot (K-4, K-10).
type Unstored struct {
	Unreadable       int64 `json:"unreadable,omitempty"`
	Ignored          int64 `json:"ignored,omitempty"`
	UnsupportedNames int64 `json:"unsupportedNames,omitempty"`
	// Unsupported counts by kind: fifo, socket, device, xattr, acl, hardlink.
	Unsupported map[string]int64 `json:"unsupported,omitempty"`
	// Paths are the first of them, at most MaxPaths; the encoder drops from the end what does not fit.
	Paths []EntryFault `json:"paths,omitempty"`
}

// MaxPaths is how many paths a result names.
const MaxPaths = 20

// EntryFault is one entry that was not stored, or whose ownership could not be set.
type EntryFault struct {
	Path   string `json:"path"`
	UID    int64  `json:"uid"`
	Mode   string `json:"mode,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Resolution is the outcome of Resolve.
type Resolution string

// The three outcomes. Only a proven absence may be treated as "there is nothing" (K-1).
const (
	ResolutionFound   Resolution = "found"
	ResolutionAbsent  Resolution = "absent"
	ResolutionUnknown Resolution = "unknown"
)

// ResolveResult says which snapshot is meant.
type ResolveResult struct {
	Resolution Resolution `json:"resolution"`
	SnapshotID string     `json:"snapshotID,omitempty"`
	StartTime  time.Time  `json:"startTime,omitzero"`
	Identity   *Identity  `json:"identity,omitempty"`
	// Candidates is how many complete snapshots the identity has.
	Candidates int64 `json:"candidates,omitempty"`
	SizeBytes  int64 `json:"sizeBytes,omitempty"`
	// SourcePaths is how many source paths an identity has that was asked for without one, where it has several: none was
	// chosen, and the message names the first.
	SourcePaths int64 `json:"sourcePaths,omitempty"`
}

// RestoreResult describes what was written.
type RestoreResult struct {
	// SnapshotID is the id that was restored: another one than asked for where it was found again by its start time.
	SnapshotID     string    `json:"snapshotID"`
	FilesRestored  int64     `json:"filesRestored"`
	DirsRestored   int64     `json:"dirsRestored"`
	LinksRestored  int64     `json:"linksRestored"`
	BytesRestored  int64     `json:"bytesRestored"`
	FilesSkipped   int64     `json:"filesSkipped,omitempty"`
	EntriesDeleted int64     `json:"entriesDeleted,omitempty"`
	EntriesFailed  int64     `json:"entriesFailed,omitempty"`
	Ownership      Ownership `json:"ownership"`
}

// TargetFull begins the message of a restore, of code NoSpace, whose target has no room for it. It is about what the user
// chose, and not about a cache.
const TargetFull = "the target of the restore is full"

// Ownership counts owners, modes and times that were set, and that could not be (K-5).
type Ownership struct {
	Applied int64        `json:"applied"`
	Failed  int64        `json:"failed"`
	Paths   []EntryFault `json:"paths,omitempty"`
}

// RecordedSchema is the version of RecordedMeta.
const RecordedSchema = 1

// RecordedMeta is stored with every snapshot under TagMeta: whom the data belongs to, for a restore that wants the same.
type RecordedMeta struct {
	Schema  int    `json:"schema"`
	UID     *int64 `json:"uid,omitempty"`
	GID     *int64 `json:"gid,omitempty"`
	FSGroup *int64 `json:"fsGroup,omitempty"`
	Src     string `json:"src"`
}
