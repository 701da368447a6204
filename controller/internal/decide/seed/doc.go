// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seed decides how a new repository is filled from another one, before it is connected to for the first time.
//
// A repository is seeded once, and only as long as nobody knows an id of it: the mover looks whether the location holds
// one, and leaves it as it is if so. Until the seed has ended nothing connects, so that nothing is created in the place
// of what is to come, and nobody takes the repository for Ready.
//
// Scenarios it has to survive:
//
//	marked as begun, process killed        the Job is made, or found: its name derives from the attempt
//	mover killed halfway                   the next attempt goes on; what is there by then is no repository for anybody
//	result lost with its pod               the next attempt finds a repository that is there
//	spec edited while a seed runs          its Job goes first; two never work at one location
//	spec.seed removed before it has ended  the location stays marked, and the connect says what is there
//	source empty                           refused; an empty repository must not be taken for the seeded one
package seed
