// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapper decides which objects a changed object wakes, without a client.
//
// It has two halves that meet in an index value. Keys tell what an object depends on: an indexer stores them for every
// object in the cache. Lookups tell what to ask that index when something changes. Both fill in namespaces with the
// helpers that reconcilers read with (RepositoryRef.In, ObjectRef.In, RepositorySpec.HomeNamespace), so that a watch
// cannot disagree with a read.
//
//	Secret, ConfigMap, ServiceAccount  → the repositories that name it; what waits for credentials in its namespace
//	PersistentVolumeClaim              → the repositories that lie on it; what waits for a claim in its namespace; the Restore
//	                                     that fills it, or fills another one by it
//	Namespace                          → its policies; what waits for the mover's permission or a repository's there
//	Job of a mover that succeeded      → its repository, where that was out of reach
//	Repository, ClusterRepository      → policies, their schedules and unfinished Snapshots, waiting Restores
//	SnapshotPolicy                     → its unfinished Snapshots, the Restores from it, the schedules that name or select it
//	Snapshot                           → the Restores that name it, its policy, its schedule
//
// A Secret that nobody names (most are) wakes nobody: the answer comes from the index, never from a list.
package mapper
