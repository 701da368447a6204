// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest runs the real command lines against a real API server. No controller runs there: tests write the
// statuses that it would have written. Answers are compared with golden files, stdout and stderr and exit code; go test
// -update writes them anew.
package apitest
