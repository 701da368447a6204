// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the admission webhook. It has no code of its own: cmd/webhook is the program, apis/validation holds
// the rules.
package webhook
