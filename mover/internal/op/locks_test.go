// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// D-11: whoever locks blobs hears where the locks end all the same.
func TestLockAdvice(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		period, every time.Duration
		extends       bool
		says          string
	}{
		"nothing where nothing is locked":                        {},
		"nothing where locks are prolonged in time":              {period: 3 * day, every: day, extends: true},
		"nothing of when, where nobody said how often":           {period: 2 * day, extends: true},
		"that locks of a day cannot be prolonged":                {period: day, every: day, says: "locks of 48h or longer only"},
		"that somebody else's locks are not prolonged":           {period: 30 * day, every: day, says: "state its blobRetention"},
		"that a weekly maintenance is too seldom for three days": {period: 3 * day, every: 7 * day, extends: true, says: "at least every 48h"},
		"that no maintenance is often enough for a day and a half": {
			period: 36 * time.Hour, every: 7 * day, extends: true, says: "at least every 24h",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := engine.Parameters{Retention: engine.BlobRetention{Period: tc.period}, Extends: tc.extends, LeastExtended: 2 * day}
			got := op.LockAdvice(p, tc.every)
			assert.Contains(t, got, tc.says)
			assert.Equal(t, tc.says == "", got == "")
		})
	}
}

func TestCopyLockAdvice(t *testing.T) {
	t.Parallel()
	assert.Empty(t, op.CopyLockAdvice(engine.Mirrored{Locked: 3}))
	assert.Contains(t, op.CopyLockAdvice(engine.Mirrored{Unlocked: true}), "the copy is not")
	assert.Contains(t, op.CopyLockAdvice(engine.Mirrored{Unprolonged: 3}), "at the destination: the store refused")
}
