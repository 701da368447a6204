// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package find reads objects of ours, and says what may have been meant where there is none of a name.
package find
