// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mover is the root of the mover module; its code lives in the packages below.
package mover
