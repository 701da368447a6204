// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package deletion_test

// killPoints are every fifth number of writes after which a controller can die.
func killPoints(most int) []int {
	var out []int
	for n := 1; n <= most; n += 5 {
		out = append(out, n)
	}
	return out
}
