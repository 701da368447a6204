// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis is the root of Kopiur's contract module: the Kubernetes types, the mover protocol and the pure rules
// that controller, mover, webhook and CLI share. Nothing in this module performs I/O.
package apis
