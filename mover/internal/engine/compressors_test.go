// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"testing"

	"github.com/kopia/kopia/repo/compression"
	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/apis/work"
)

// TestCompressors: what admission takes is what kopia knows, no more and no less.
func TestCompressors(t *testing.T) {
	t.Parallel()
	known := []string{"none"}
	for name := range compression.ByName {
		known = append(known, string(name))
	}
	slices.Sort(known)
	assert.Equal(t, known, slices.Sorted(slices.Values(work.Compressors)))
}
