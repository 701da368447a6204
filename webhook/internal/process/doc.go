// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is what the webhook is besides admission: options, logging and the runtime's limits.
package process
