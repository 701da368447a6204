// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Pin makes kopia keep one snapshot whatever its policies say, or lets it go again. It is idempotent.
type Pin struct {
	Snapshot SnapshotKey `json:"snapshot"`
	// Pinned is what is wanted.
	Pinned bool `json:"pinned"`
}

// PinResult names the snapshot as it is called now: pinning rewrites its manifest, and with it the id (K-3, J-4).
type PinResult struct {
	SnapshotID string    `json:"snapshotID"`
	StartTime  time.Time `json:"startTime"`
	Pinned     bool      `json:"pinned"`
	// Changed is false where it was as wanted already, also when an earlier attempt had done it.
	Changed bool `json:"changed,omitempty"`
	// OtherPins counts pins that are not Kopiur's. They are left alone.
	OtherPins int64 `json:"otherPins,omitempty"`
}
