// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/restore"
)

func TestCapacity(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	for name, tc := range map[string]struct {
		bytes, files int64
		want         string
	}{
		"nothing takes the smallest claim":            {0, 0, "1Gi"},
		"what fits with a tenth to spare":             {9 * gib, 1, "10Gi"},
		"what would fill its claim gets the next":     {10 * gib, 1, "12Gi"},
		"small files take blocks":                     {4 * gib, 1 << 20, "18Gi"},
		"many empty files take inodes":                {0, 10 << 20, "176Gi"},
		"a size that is none":                         {-1, -1, "1Gi"},
		"a size beyond all volumes does not overflow": {math.MaxInt64, math.MaxInt64, "7Ei"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := restore.Capacity(tc.bytes, tc.files)
			assert.Equal(t, tc.want, got.String())
		})
	}
}
