// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog decides what becomes of the snapshots that a repository holds and that no Snapshot of this cluster made.
//
//	stored snapshot                          becomes
//	-------------------------------------    ----------------------------------------------------------------
//	of a Snapshot that is here               nothing; it is known
//	under the identity of a policy here      a row in the policy's namespace, which the policy takes over
//	of another cluster                       a number, or a row where foreignSnapshots is Fallback
//	anything else                            a row: a Snapshot with phase Discovered that can be restored from
//
// A row is a view. It has no finalizer, its name follows from what it shows, and deleting it deletes nothing. A row whose
// snapshot is gone goes with the next listing.
//
// Adopting a row makes it one of a policy: retention counts it from then on, and may delete its data. So it is done once
// only. What a policy has taken over before and is found again is a snapshot whose object was deleted while its data was
// kept: it stays a row, or deleting, finding and adopting would go round for ever.
package catalog
