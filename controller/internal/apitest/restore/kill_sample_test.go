// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package restore_test

// killPoint picks every other kill point; -tags soak takes them all.
func killPoint(n int) bool { return n%2 == 1 }
