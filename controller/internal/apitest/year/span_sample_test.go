// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package year_test

import "time"

// A sample of the year: two weeks with a run every eight hours, and an outage of either kind.
const (
	often  = "15 */8 * * *"
	span   = 14 * 24 * time.Hour
	outage = 5 * 24 * time.Hour // from one to the next
)
