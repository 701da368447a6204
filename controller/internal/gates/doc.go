// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gates reads what has to hold before any mover may start: that the things it mounts exist where it runs, and
// that the Namespace consents to its privileges. The kinds that run movers share it, so that they open and close, and
// explain themselves, in the same way.
//
// Nothing here reads the body of a Secret: its resourceVersion says whether it changed, its absence whether it is there.
package gates
