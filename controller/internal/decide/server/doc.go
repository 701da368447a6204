// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server decides about the web UI of a repository: whether it may be served, and what is to be said about it.
//
// It is served once the repository is known to be one, from the same Secrets as its movers, and beside them: a claim that
// only one node mounts would lock the movers of all others out. What stands in its way is said and changes nothing: a
// server that runs goes on with the settings that it was started with, until the new ones are good. A suspended repository
// is not connected to, so its server is stopped. Without spec.server nothing of it is left.
package server
