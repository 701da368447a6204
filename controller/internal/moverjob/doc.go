// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moverjob turns a unit of work into a Job and a Job back into an outcome. It is the only code that knows what a
// mover's pod looks like, which privileges it asks for and how its result is read.
//
// Build and Decide are pure. A Job's name derives from its owner and attempt, so that creating it twice is one Job.
package moverjob
