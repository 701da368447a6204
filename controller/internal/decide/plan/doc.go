// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what to do next for one Snapshot. It sees the world as it was observed and the time, and answers
// with a Plan; it reads and writes nothing.
//
// A Snapshot passes its gates in this order, and waits at the first that is closed:
//
//	policy       exists, is not suspended, its source exists in it
//	repository   exists, is writable, allows the namespace, is Ready, its volume exists where the mover runs
//	credentials  Secrets, CA bundle and ServiceAccount exist where the mover runs
//	source       the claim exists; after 30 minutes without it the Snapshot fails
//	privilege    the Namespace consents to what the mover's pod asks for
//	use          a ReadWriteOncePod claim that is in use cannot be read beside its user
//	staging      a copy of the claim is made (package staging)
//
// Then one Job runs one mover, whose final result is recorded once and for all. A gate is a condition that says what it
// waits for; it is looked at again when a watch tells of a change, so that nobody has to touch the Snapshot.
//
// Reading costs requests, so the first answer may be a question: Plan.Ask names the one fact the decision hangs on. The
// caller looks it up, sets it in the World and asks again.
//
// Scenarios the code has to survive:
//
//	Job created, controller dies before it says so      the name is derived: the Job is found and followed
//	status says Running, the cache has no Job yet       a live read decides, not the cache
//	the Job is gone, its result was never read          another attempt, which finds what was stored by its request tag
//	the result is recorded, controller dies             a finished Snapshot still retires its Job and removes its copy
//	the policy changes to Direct while a copy is made    the copy is removed first
//	the mover's pod never starts                        Failed before any mover ran: a new generation tries again
package plan
