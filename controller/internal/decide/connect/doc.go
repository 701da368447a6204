// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect decides what becomes of a repository: when a Job connects to it, and what its outcome means.
//
// An attempt is one Job. Its name derives from the repository's UID, its generation, the version of its credentials and
// a counter, so that an attempt for the present inputs is told from one for older inputs by its name alone. The status
// remembers the last attempt and, in job.finishedAt, that its outcome is already in the status.
//
// Scenarios it has to survive:
//
//	Job created, process killed          the next attempt's name finds the Job; it is followed
//	outcome recorded, process killed     job.finishedAt says so: it is not counted twice; its time to live is set
//	Secret edited while a Job runs       the Job's name does not fit any more: it is removed and a new one starts, and
//	                                     where the repository may still be created, only once the old pod has ended
//	wrong password, parked               stays Failed while generation and credentials are the same; a changed Secret
//	                                     changes the name, which is due at once, without any edit of the repository
//	store down for a night               one Job after 2, 4, 8, 16, then every 30 minutes
//	store wiped                          the pinned unique id goes with every attempt and forbids creation for ever
//	Job removed by hand before its end   confirmed by a live read, then counted as an attempt without an outcome
package connect
