// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package repository_test

// serverKills are the writes after which a controller is killed that makes a web UI or takes it away.
var serverKills = []int{2, 4, 6}
