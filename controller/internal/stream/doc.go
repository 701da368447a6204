// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream is the helper beside the mover of a stream. It runs a command in a pod of the application and carries its
// output to the mover, or a stored file from the mover to its input. It speaks Kubernetes so that the mover need not, and
// has a ServiceAccount that may do nothing else.
//
// Nothing is taken for granted that was not heard: a command of whose end no exit status arrived has failed, whatever it
// wrote, and a consumer has only taken what its own end of the pipe acknowledged.
package stream
