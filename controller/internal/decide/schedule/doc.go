// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides what a SnapshotSchedule does at some time: which run is next, whether one is due, which
// Snapshots it consists of, and which of the earlier ones go. It is pure.
//
// A run belongs to a slot, the time that cron names. Its Snapshots are named after the slot and carry it in an
// annotation, so that making a run twice makes it once. status.nextSchedule pins the next slot and when its run is made.
// What follows from that, in the order in which it is decided:
//
//	the pinned slot lies ahead      the first slot after now is pinned: edits and clocks that were set back count at once
//	the pinned slot has come        it is owed: it stays pinned until its run is made or left out, whatever changes meanwhile
//	the run is late                 one run is made for all slots that have come, within five minutes, so that a thousand
//	                                schedules do not start together after an outage
//	it is too late                  startingDeadlineSeconds leaves it out
//	nothing was pinned              suspended, refused or without a policy before: the first slot after now; a new schedule
//	                                owes what came since it was created
//	the slot's run was made         by a clock that was ahead then: the slot after it
//
// Of one policy, a run that waits and has not begun stands for every later one: when what it waits for comes back, it is
// the one run that follows. One that has begun is what concurrencyPolicy is about.
package schedule
