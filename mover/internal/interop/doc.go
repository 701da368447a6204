// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interop holds the proof that kopia's own command line reads and verifies what the mover writes, and the other
// way round, and of what only a server of its own can show: object lock. Its tests are behind the build tag interop: they
// need the CLI and versitygw, which hack/tool builds once.
package interop
