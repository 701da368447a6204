// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package work is the protocol between the controller and its movers. The controller writes one Spec into the mover's
// environment; the mover answers with one Result in the container's termination message and, while it runs, with a
// stream of Events on standard output. Both sides share these types and the same golden files under testdata, so that
// a change of the wire is a visible diff.
//
// Where a mover works with a second process (a command whose output is a backup, a person who browses) the two speak in
// frames over a unix socket; see FrameKind.
//
// The package opens nothing itself and knows neither Kubernetes nor kopia.
package work
