// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package work is the protocol between the controller and its movers. The controller writes one Spec into the mover's
// environment; the mover answers with one Result in the container's termination message and, while it runs, with a
// stream of Events on standard output. Both sides share these types and the same golden files under testdata, so that
// a change of the wire is a visible diff.
//
// The package does no I/O and knows neither Kubernetes nor kopia.
package work
