// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package testenv

// KillPoints are the writes after which a controller is killed, of a course that takes fewer than most: the sample, and all
// of them with -tags soak.
func KillPoints(_ int, sample ...int) []int { return sample }
