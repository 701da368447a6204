// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// MaintenanceMode is how much a maintenance does.
type MaintenanceMode string

// Modes of maintenance.
const (
	// MaintenanceQuick keeps the number of index blobs small.
	MaintenanceQuick MaintenanceMode = "quick"
	// MaintenanceFull also gives back the space of what was deleted.
	MaintenanceFull MaintenanceMode = "full"
)

// Maintain runs kopia's maintenance once, always with its full safety margins. Nobody else may run one of the same
// repository meanwhile: that is the caller's to ensure (K-6).
type Maintain struct {
	Mode MaintenanceMode `json:"mode"`
	// Owner says whose ownership is taken over; absent, only this client's own counts.
	Owner *OwnerRule `json:"owner,omitempty"`
	// FullIntervalSeconds is the time between two full maintenances, for the estimate of when space comes back; zero
	// means a day.
	FullIntervalSeconds int64 `json:"fullIntervalSeconds,omitempty"`
}

// MaintainResult says what a maintenance did and what comes next.
type MaintainResult struct {
	Mode MaintenanceMode `json:"mode"`
	// Owner is who has the ownership now, PreviousOwner whom it was taken over from by this very run.
	Owner         string `json:"owner,omitempty"`
	PreviousOwner string `json:"previousOwner,omitempty"`
	// ReclaimedBytes and ReclaimedBlobs went away from the store.
	ReclaimedBytes int64 `json:"reclaimedBytes"`
	ReclaimedBlobs int64 `json:"reclaimedBlobs"`
	// Waiting says why nothing, or not all, could be reclaimed yet.
	Waiting *Reclaim `json:"waiting,omitempty"`
	// NextQuick and NextFull is when kopia thinks they are due.
	NextQuick time.Time `json:"nextQuick,omitzero"`
	NextFull  time.Time `json:"nextFull,omitzero"`
	// IndexBlobCount, IndexBlobBytes and Epoch are those after the run (C-11). Epoch is absent in an old format.
	IndexBlobCount int64  `json:"indexBlobCount"`
	IndexBlobBytes int64  `json:"indexBlobBytes"`
	Epoch          *int64 `json:"epoch,omitempty"`
}

// ReclaimReason is what deleted data waits for.
type ReclaimReason string

// What deleted data waits for, in the order in which it does.
const (
	// ReclaimTooYoung: what no snapshot uses is younger than a day; a backup that is under way may need it.
	ReclaimTooYoung ReclaimReason = "TooYoung"
	// ReclaimSecondCycle: it is marked; it is dropped once later full maintenances, hours apart, still find no use of it.
	ReclaimSecondCycle ReclaimReason = "SecondCycle"
	// ReclaimReaders: it is dropped; its blobs stay until no reader can still have an index that names them.
	ReclaimReaders ReclaimReason = "Readers"
	// ReclaimSharedBlobs: it is dropped, but its blobs hold data in use as well; they are rewritten once later backups have
	// made more of the kind.
	ReclaimSharedBlobs ReclaimReason = "SharedBlobs"
)

// Reclaim is space that will come back.
type Reclaim struct {
	// Reason is what most of it waits for.
	Reason ReclaimReason `json:"reason"`
	// Bytes is all of it, as stored.
	Bytes int64 `json:"bytes"`
	// At is the full maintenance that gives it back at the earliest, if they go on at their interval; absent where that
	// cannot be told.
	At time.Time `json:"at,omitzero"`
	// Message is the same as one sentence.
	Message string `json:"message"`
}
