// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package populator_test

// killPoint picks every third kill point; -tags soak takes them all.
func killPoint(n int) bool { return n%3 == 2 }
