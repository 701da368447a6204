// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Verify proves that snapshots can be restored: Quick looks whether everything they consist of is there and reads a part
// of it, Deep restores one of them. With both, Deep follows Quick where that found no fault.
type Verify struct {
	// Identities are those whose complete snapshots are meant.
	Identities []Identity `json:"identities,omitempty"`
	// Snapshot names one snapshot instead.
	Snapshot *SnapshotKey `json:"snapshot,omitempty"`
	// All means all complete snapshots of the repository.
	All bool `json:"all,omitempty"`
	// MinBlobs is how many blobs the store holds at least, where somebody knows: a lost index takes snapshots with it, and
	// nothing that is left misses them.
	MinBlobs int64        `json:"minBlobs,omitempty"`
	Quick    *QuickVerify `json:"quick,omitempty"`
	Deep     *DeepVerify  `json:"deep,omitempty"`
}

// QuickVerify walks all of the snapshots and looks every piece up. Zero means kopia's own number, or the machine's.
type QuickVerify struct {
	// FilesPercent is how many of a hundred files are read to their end as well; 100 and more means all.
	FilesPercent    int64 `json:"filesPercent,omitempty"`
	Parallel        int   `json:"parallel,omitempty"`
	FileParallelism int   `json:"fileParallelism,omitempty"`
	FileQueueLength int   `json:"fileQueueLength,omitempty"`
	// MaxErrors is how many faults end the verification early; zero means that it goes to the end.
	MaxErrors int `json:"maxErrors,omitempty"`
}

// DeepVerify restores the newest snapshot into a scratch volume, compares it and removes it.
type DeepVerify struct {
	// ScratchPath is where the volume is mounted.
	ScratchPath string `json:"scratchPath"`
	Parallel    int    `json:"parallel,omitempty"`
	// Keep leaves what was restored in the scratch volume, for a check of the user's own.
	Keep bool `json:"keep,omitempty"`
	// FitPercent takes the newest snapshot that needs no more of what is free in the scratch volume; zero takes the newest.
	FitPercent int64 `json:"fitPercent,omitempty"`
}

// VerifyResult holds what a successExpr may ask about.
type VerifyResult struct {
	// Tier is "quick" or "deep".
	Tier Tier `json:"tier"`
	// Snapshot is the newest one that was verified, or the one that was restored.
	Snapshot *VerifiedSnapshot `json:"snapshot,omitempty"`
	// Snapshots counts those that were verified.
	Snapshots int64 `json:"snapshots"`
	Files     int64 `json:"files"`
	Bytes     int64 `json:"bytes"`
	// Errors counts faults of the repository; it is not about a store that does not answer.
	Errors int64 `json:"errors"`
	// FilesRead and BytesRead is what was read to its end.
	FilesRead int64 `json:"filesRead,omitempty"`
	BytesRead int64 `json:"bytesRead,omitempty"`
	// Restored is of a deep verification only.
	Restored *VerifiedRestore `json:"restored,omitempty"`
	// Faults are the first of them, at most MaxPaths.
	Faults []EntryFault `json:"faults,omitempty"`
}

// VerifiedSnapshot is a snapshot as expressions know it.
type VerifiedSnapshot struct {
	SnapshotID string    `json:"snapshotID"`
	Identity   Identity  `json:"identity"`
	StartTime  time.Time `json:"startTime"`
	EndTime    time.Time `json:"endTime"`
}

// VerifiedRestore describes what came back.
type VerifiedRestore struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// ChecksumMatches: every file was read again from the scratch volume and is what the repository gave.
	ChecksumMatches bool `json:"checksumMatches"`
}

// Tier is how deep a verification went.
type Tier string

// Tiers of verification.
const (
	TierQuick Tier = "quick"
	TierDeep  Tier = "deep"
)
