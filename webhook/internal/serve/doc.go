// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve runs HTTP servers whose end is waited for.
package serve
