// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package engine

// soak: every fault at every call, every kill point, full sizes. Otherwise a sample of each.
const soak = false
