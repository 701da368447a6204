// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging

import "k8s.io/apimachinery/pkg/types"

// Removal is one thing to do so that nothing of a staged copy stays behind.
type Removal string

// Removals in their order. The claim goes before the VolumeSnapshot, because some drivers cannot delete a snapshot that
// a volume was made from.
const (
	RemoveClaim    Removal = "RemoveClaim"
	RemoveSnapshot Removal = "RemoveSnapshot"
	// AwaitRemoval: an object is on its way out.
	AwaitRemoval Removal = "AwaitRemoval"
	// Clean: nothing is left.
	Clean Removal = "Clean"
)

// Cleanup says what to remove next. Objects of the same name that belong to somebody else are not ours to touch and
// count as gone, and so does a VolumeSnapshot of a group, which goes with the group. It must only be asked once no pod can
// use the claim any more.
func Cleanup(s State) Removal {
	if c := s.Claim; c != nil && ownedBy(c, s.Owner) {
		if c.DeletionTimestamp != nil {
			return AwaitRemoval
		}
		return RemoveClaim
	}
	if vs := s.Snapshot; vs != nil && vs.Owner == s.Owner {
		if vs.Deleting {
			return AwaitRemoval
		}
		return RemoveSnapshot
	}
	return Clean
}

// Content is what matters of a VolumeSnapshotContent.
type Content struct {
	Name string
	// SnapshotUID is the VolumeSnapshot it belongs to.
	SnapshotUID types.UID
	// Dynamic: the driver made it for that VolumeSnapshot. One that an administrator brought along is kept.
	Dynamic bool
	Retain  bool
}

// Release reports whether the content has to be told to go with its VolumeSnapshot. With deletionPolicy Retain it would
// stay for ever, and with it the storage (acceptance A-2).
func Release(c *Content, snapshot *Snapshot) bool {
	return c != nil && snapshot != nil && c.Retain && c.Dynamic && c.SnapshotUID != "" && c.SnapshotUID == snapshot.UID
}
