// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package snapshotreplication_test

// killPoints are the writes after which a run is killed.
var killPoints = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
