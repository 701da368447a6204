// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keptcache looks after the claims of caches that outlive their movers (cache.mode Persistent).
//
// A policy's backups share one claim per repository, and so do the looks at a repository; each Maintenance and each
// replication has its own. One mover uses it at a time: kopia
// gives two processes with one cache no promise, a mover empties a cache that is full, and a claim may be usable on one node
// only. A mover that finds it in use gets a cache of its own that goes with its pod, as it does wherever the claim cannot be
// had. A cache only makes things quick: nothing waits for one, and nothing fails for want of one.
//
//	no claim                         it is made, and used
//	ours, as asked for, free         it is used
//	ours, in use                     not this time
//	ours, of another size, class     it is removed, and made again by the next mover; what it held can be fetched again
//	or repository
//	of somebody else                 it is not touched, and an event says so
//
// The claim goes with the object that owns it.
package keptcache
