// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package printer writes answers: tables for people, and objects as the API server has them for programs.
package printer
