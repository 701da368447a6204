// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package testenv

// KillPoints are the writes after which a controller is killed, of a course that takes fewer than most: all of them.
func KillPoints(most int, _ ...int) []int {
	out := make([]int, most)
	for i := range out {
		out[i] = i + 1
	}
	return out
}
