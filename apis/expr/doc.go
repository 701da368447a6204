// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expr compiles and evaluates the CEL expressions that users write: parts of an identity, when a verification
// counts, what must hold before a run. Each use has an environment of its own, made from the Go type of its input, so
// that a misspelt field is an error at admission and the list of variables in a message cannot lag behind.
//
// Expressions see nothing but their input: no clock, no network, no other object. Their length, the cost they may have
// at worst and the cost they do have are limited.
package expr
