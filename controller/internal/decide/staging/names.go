// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName keeps the names of staged objects within a label value, which some drivers make of them.
const maxName = 63

// SnapshotName is the name of a Snapshot's VolumeSnapshot.
func SnapshotName(snapshot string) string { return derived(snapshot, "-snap") }

// ClaimName is the name of a Snapshot's staged claim.
func ClaimName(snapshot string) string { return derived(snapshot, "-src") }

// derived shortens a long name and marks it with its own hash, so that two long names that begin alike stay apart.
func derived(name, suffix string) string {
	if len(name)+len(suffix) <= maxName {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:4]) + suffix
	return strings.TrimRight(name[:maxName-len(tail)], "-.") + tail
}
