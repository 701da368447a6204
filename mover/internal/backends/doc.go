// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backends holds tests only: every operation of the mover on every backend that can run on one machine, against
// the servers that people use. They have the build tag servers.
package backends
