// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package snapshot_test

// killPoints are a sample: after the intent to stage, the Job, the record of it, the result, and within the clean-up.
var killPoints = []int{1, 2, 11, 15, 18}

// groupKillPoints are the labels, the group, its content and labels, and within staging and clean-up.
var groupKillPoints = []int{1, 2, 3, 5, 8, 30, 44}

// pinPoints are those of a toggle whose mover is quick.
var pinPoints = []int{0, 1, 2, 3, 4, 5, 7}
