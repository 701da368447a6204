// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository reconciles Repository and ClusterRepository, which differ in scope and home namespace only: one
// reconciler works on an adapter over both.
//
// It observes the gates and the Jobs, lets decide/connect say what that means, and acts: at most one Job per repository
// connects to the store. Nothing here opens a repository or reads a Secret's body.
package repository
