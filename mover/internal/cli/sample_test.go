// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package cli_test

// killPoints is how often each operation is killed.
const killPoints = 4
