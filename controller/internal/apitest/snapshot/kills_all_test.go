// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package snapshot_test

// killPoints are all numbers of writes after which a controller can die.
var killPoints = func() []int {
	var out []int
	for n := range maxWrites + 1 {
		out = append(out, n)
	}
	return out
}()

// pinPoints are more than a toggle takes, also where its mover is slow to start.
var pinPoints = func() []int {
	var out []int
	for n := range 15 {
		out = append(out, n)
	}
	return out
}()

// groupKillPoints are all of a run of two claims that are cut together.
var groupKillPoints = func() []int {
	var out []int
	for n := range 2*maxWrites + 8 {
		out = append(out, n)
	}
	return out
}()
