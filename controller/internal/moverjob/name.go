// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// maxNamePart is how much of the owner's name a Job's name shows: with letter and hash it stays below the 63 bytes of
// the label that the Job controller makes of it.
const maxNamePart = 40

// Name derives a Job's name: a letter for the kind, the owner's name for people, and a hash over the owner's UID, the
// operation and the attempt. The same attempt always has the same name, so a crash after the create is no duplicate.
func Name(letter, owner string, uid types.UID, operation, attempt string) string {
	sum := sha256.Sum256([]byte(string(uid) + "\x00" + operation + "\x00" + attempt))
	part := strings.ReplaceAll(owner, ".", "-")
	if len(part) > maxNamePart {
		part = strings.TrimRight(part[:maxNamePart], "-")
	}
	return letter + "-" + part + "-" + hex.EncodeToString(sum[:4])
}
