// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package year_test

import "time"

// The whole year, with a run every hour and an outage every month.
const (
	often  = "15 * * * *"
	span   = 365 * 24 * time.Hour
	outage = 30 * 24 * time.Hour // from one to the next
)
