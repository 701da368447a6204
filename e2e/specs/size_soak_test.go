// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && soak

package specs

// What a large restore is, and how fast it may read: slow enough for its mover to be caught in the middle.
const (
	manyFiles   = "100000"
	sparseBytes = 10 << 30
	readPerSec  = 2 << 20
)
