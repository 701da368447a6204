// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package populator_test

func killPoint(int) bool { return true }
