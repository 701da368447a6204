// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package group decides how the claims of one run are cut at one instant, and what is left to remove afterwards.
//
// The Snapshots of a run name one VolumeGroupSnapshot. The first of them makes it, after the hooks before the snapshot, and
// the others wait:
//
//	maker   label the claims ──▶ VolumeGroupSnapshot ──ready──▶ own VolumeSnapshot ──▶ staged claim ──▶ mover
//	others                                           ──ready──▶ own VolumeSnapshot ──▶ staged claim ──▶ mover
//
// A VolumeGroupSnapshot selects claims by labels, and its controller looks at matchLabels alone; a policy names claims, or
// selects them by any selector. So each claim gets a label with the group's name for as long as the cut takes.
//
// All of a run are cut at one instant or none: a claim that is missing, of another driver, or whose snapshot went is never
// cut again or for itself, because the restored volumes would not fit together and nothing would tell.
//
// The VolumeGroupSnapshot has no owner, because no single Snapshot of the run outlives the others. Tidy removes it when no
// Snapshot needs it any more.
package group
