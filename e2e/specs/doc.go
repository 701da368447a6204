// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs holds the cluster tests: real volumes, real movers, real stores. They are built with the tag e2e and run
// by `make test` on a cluster with Kopiur installed. Every one of them restores what it backed up and compares, because
// a backup is only as good as its restore.
package specs
