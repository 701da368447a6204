// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package snapshotreplication_test

// killPoints are the writes after which a run is killed.
var killPoints = []int{1, 2, 4, 6, 9}
