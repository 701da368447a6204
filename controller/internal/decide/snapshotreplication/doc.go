// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotreplication decides when snapshots are copied from one repository to another, what Snapshots stand for
// the copies, and which of them go again.
//
// A run is in the status before anything is made for it, and the names of its Jobs derive from it: whatever a process did
// not live to record, the next one finds. One Job copies and tells what the destination holds; where that is more than its
// log takes, further ones tell the rest.
//
// Scenarios it has to survive:
//
//	run recorded, process killed           its Job is made, or found
//	killed among a thousand rows           they have names of their own; those that are there are passed over
//	killed between the parts of a run      what earlier parts told is not known any more: nothing is deleted in this run
//	a mover that could not read something  what it copied has rows, and nothing is deleted
//	a source with an empty list            nothing is deleted: it is more likely to be gone than to be meant
//	the repository behind sourceRef is another one now  copies from the one before are not measured by it
//	a snapshot that somebody else stored   is no copy of this replication, and never deleted by it
package snapshotreplication
