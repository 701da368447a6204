// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule says when something runs: five-field cron expressions, time zones with their changes of the clock,
// and a delay that is the same for the same run wherever it is computed. Everything is a pure function of its
// arguments; whoever calls knows what time it is.
//
// The grammar and the two hashes are frozen: a manifest that was accepted once fires at the same minutes for ever. The
// golden files under testdata hold them.
//
// Zones come from the system or, in a program that imports time/tzdata, from the program itself.
package schedule
