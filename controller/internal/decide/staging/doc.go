// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package staging decides how a source is copied before a mover reads it, and what comes next while the copy is made.
//
// Choose picks the classes, once per run. Next says which object to make or to wait for:
//
//	Snapshot  VolumeSnapshot ──ready──▶ staged claim ──bound──▶ mover
//	Clone                                staged claim ──bound──▶ mover
//
// A claim whose class waits for its first consumer is not bound before the mover's pod is scheduled; the mover starts at
// once and the claim is watched beside it. Every step has a deadline of its own (spec.staging.timeout, "0" for none),
// counted from the creation of the object it waits for. An error that the driver reports before that is only a message:
// drivers retry, and a backup must not fail because one request met another (acceptance A-6).
//
// There is no way from here to copyMethod Direct. A volume that cannot be copied is reported with what to change, because
// reading the live volume instead would store files in the middle of being written and call it a backup.
package staging
