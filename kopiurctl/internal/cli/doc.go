// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli holds what all verbs share: the global flags, the connection to the cluster, and the exit codes with the
// sentences that explain them. stdout is the answer, stderr the conversation.
package cli
