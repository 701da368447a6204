// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/kopia/kopia/repo/ecc"
	"github.com/kopia/kopia/repo/encryption"
	"github.com/kopia/kopia/repo/hashing"
	"github.com/kopia/kopia/repo/splitter"
	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/apis/work"
)

// TestAlgorithms: what admission takes for a new repository is what kopia knows, no more and no less.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	assert.ElementsMatch(t, hashing.SupportedAlgorithms(), work.Hashes)
	assert.ElementsMatch(t, splitter.SupportedAlgorithms(), work.Splitters)
	assert.ElementsMatch(t, encryption.SupportedAlgorithms(false), work.Encryptions)
	assert.ElementsMatch(t, ecc.SupportedAlgorithms(), work.ECCs)
}
