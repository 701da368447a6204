// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e is the root of the e2e module; its code lives in the packages below.
package e2e
