// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics computes gauges from the shared cache whenever they are asked for. Nothing is set and nothing reset:
// what a gauge says is what the objects say, it survives a restart, and it goes with its object.
//
// A kind describes its gauges as a Source; the set-up puts all sources into one Collector. Counters are not in here:
// they belong to the code that counts.
package metrics
