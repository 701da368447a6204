// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package deletion_test

// killPoints are all numbers of writes after which a controller can die.
func killPoints(most int) []int {
	var out []int
	for n := range most {
		out = append(out, n+1)
	}
	return out
}
