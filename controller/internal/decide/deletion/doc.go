// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion decides what becomes of stored data when a Snapshot is deleted. It reads and writes nothing.
//
// Three questions, in this order:
//
//	Decide    what should happen to the data: deleted, or kept for a reason that is told
//	Next      what comes next for one Snapshot: stop its mover, let it go, wait, hold
//	Compose   which Snapshots of a repository make the next Job
//
// What keeps data, strongest first:
//
//	the annotation skip-snapshot-cleanup             a person's last word
//	a discovered row                                 somebody else's snapshot; the row is only a view of it
//	the kind or the namespace is being deleted       unless the repository says onNamespaceDelete: Delete
//	deletionPolicy, of the Snapshot or by default
//	the schedule is gone                             unless onScheduleDelete is Delete
//	the policy is gone                               unless it said onPolicyDelete: Delete and wrote that on the Snapshot
//	the repository is gone                           nobody knows how to reach the data
//
// That something is gone is never taken from a cache, which may be cold or behind. Absence found there is only a reason
// to ask the API server; until it has answered nothing is decided, and nothing is deleted.
//
// Scenarios the code has to survive:
//
//	a controller makes its schedules anew, owners and all    the old UID is gone: data is kept
//	namespace, Secrets, policies go in any order              every order ends with the object gone and the data there
//	the policy was deleted a moment before its Snapshot      its wish is on the Snapshot, or the data stays
//	the Job ran, its result was lost                         it runs again and finds the data gone
//	the mover pinned the snapshot under another id            it is found by identity and start
package deletion
