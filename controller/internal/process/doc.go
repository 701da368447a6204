// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is what the controller is besides its reconcilers: options, logging, memory limits, HTTP endpoints.
package process
