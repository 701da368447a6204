// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore decides the next move of a Restore. It is pure: the world comes in, a plan goes out.
//
// A Restore answers two questions, one after the other, and never mixes them up.
//
//	which snapshot?   Pending ─▶ Resolving ─▶ status.resolved, pinned once
//	write it          Restoring ─▶ Completed | Failed
//
// The first question has three answers (K-1). Found: the id is pinned. Proven absent: a mover read the list of snapshots
// to its end and there was none; only then may onMissingSnapshot: Continue leave the target empty. Unknown: everything
// else, an unreachable store, a wrong password, a mover without a result; it is asked again, for ever, and nothing is
// written. Even a proven absence is not believed where the policy says that it has backups, where the identity has
// snapshots and only asOf or offset leave none, or where the source path is none of the policy's: an empty volume that
// was meant to be full is backed up next, and retention ages the good ones out.
//
// The pin is never taken back: not by an edit of the spec, not by a snapshot that appears later, not by a failure of the
// run. Whoever wants another snapshot makes another Restore.
//
// Situations the order of steps must survive:
//
//	killed after the intent    status.job names a Job that does not exist: the same Job is made, under the same name
//	killed after the claim     it carries our UID: it is ours, and is gone on with
//	killed before the record   the Job still holds its result: it is read again
//	result lost with its pod   restoring is idempotent: the next attempt, at most three
//	node lost                  nothing: two movers must never write into one volume
//	spec edited while running  a failure is one of the old spec: the next attempt uses the new one. So is a success
//	                           where the new spec names another claim
//
// A claim of the user is never deleted and never taken over (K-7): one that exists and is not ours stops the Restore.
//
// A populator does this for every claim that names it, each with a record of its own in status.claims (J-1). It restores
// into a helper claim and hands that one's volume over:
//
//	Pending ─▶ Resolving ─▶ Restoring ─▶ Binding ─▶ Populated
//
// The helper claim has a derived name and belongs to the user's claim. The volume changes hands in one patch, in which it
// is also kept from being reclaimed; the helper claim stays until the user's is bound, because it leads back to the volume,
// and goes when the volume has its reclaim policy back. A claim that is bound is never looked at again (B-3).
package restore
