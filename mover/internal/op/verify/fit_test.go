// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	all := []engine.Snapshot{{ID: "newest", Size: 1 << 40}, {ID: "older", Size: 100}, {ID: "oldest", Size: 10}}
	for name, tc := range map[string]struct {
		room int64
		want []string
	}{
		"there is room for all":                         {1 << 41, []string{"newest", "older", "oldest"}},
		"what is too large is passed over":              {100, []string{"older", "oldest"}},
		"the smallest that there is":                    {10, []string{"oldest"}},
		"nothing fits, and that says nothing of damage": {9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := within(all, tc.room)
			if tc.want == nil {
				code, message := classify.Outcome(err)
				assert.Equal(t, work.CodeScratchNotWritable, code)
				assert.Contains(t, message, "moverDefaults.scratch.capacity")
				return
			}
			require.NoError(t, err)
			var ids []string
			for _, s := range got {
				ids = append(ids, s.ID)
			}
			assert.Equal(t, tc.want, ids)
			assert.Len(t, all, 3)
		})
	}
}
