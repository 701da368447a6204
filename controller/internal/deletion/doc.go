// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion carries out what decide/deletion decides. It has two halves.
//
// Observer reads what bears on the data of a Snapshot that is being deleted. The reconciler of Snapshots asks it, says in
// the Snapshot's status what comes next, and removes the finalizer when the data is dealt with.
//
// Reconciler looks at one repository at a time and owns the Jobs that delete from it. It makes the next one when no other
// is there, from members that it has read again past the cache a moment before, and removes one when all its members have
// learnt from it: those whose data went have lost their finalizer, the others have recorded the failure. It writes no
// status. Manifests go first, finalizers after: an object that is still there can always be asked about its data.
package deletion
