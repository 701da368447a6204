// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

func deletion(n int) []work.SnapshotKey {
	keys := make([]work.SnapshotKey, n)
	for i := range keys {
		keys[i] = work.SnapshotKey{
			SnapshotID: fmt.Sprintf("%032x", i), Identity: work.Identity{Username: fmt.Sprint("policy-", i%7), Hostname: "apps", Path: "/pvc/data"},
			StartTime: at("2026-03-05T02:00:00Z").Add(time.Duration(i) * time.Hour),
		}
	}
	return keys
}

func TestDeleteGolden(t *testing.T) {
	t.Parallel()
	keys := deletion(8)[5:]
	keys[1].SnapshotID, keys[2].StartTime = "", time.Time{}
	specGolden(t, "delete", work.Spec{RequestID: "u-6", Repository: repository(), Operation: work.Operation{Delete: work.NewDelete(keys)}})
	resultGolden(t, "delete", work.Result{Operation: "delete", Code: work.CodeSnapshotMismatch, Message: "1 of 3 snapshots is another one than asked for", Delete: &work.DeleteResult{
		Deleted: 1, Gone: 1, Refused: 1, Outcomes: "dgr",
	}})
}

// D-2: the largest batch fits into a Spec, and what became of each member into a Result.
func TestTheLargestDeleteFits(t *testing.T) {
	t.Parallel()
	keys := deletion(work.MaxDeleteMembers)
	text, err := work.EncodeSpec(work.Spec{RequestID: strings.Repeat("u", 36), Repository: repository(), Operation: work.Operation{Delete: work.NewDelete(keys)}})
	require.NoError(t, err)
	s, err := work.DecodeSpec(text)
	require.NoError(t, err)
	got, err := s.Operation.Delete.Keys()
	require.NoError(t, err)
	assert.Equal(t, keys, got)

	b, err := work.EncodeResult(work.Result{
		Operation: "delete", Code: work.CodeSnapshotMismatch, Message: strings.Repeat("m", 4000), Warning: strings.Repeat("w", 4000),
		Delete: &work.DeleteResult{Deleted: 1000, Outcomes: work.DeleteOutcomes(strings.Repeat("d", work.MaxDeleteMembers))},
	})
	require.NoError(t, err)
	r, err := work.DecodeResult(string(b))
	require.NoError(t, err)
	assert.Len(t, r.Delete.Outcomes, work.MaxDeleteMembers)
}

func TestDeleteKeysRefuse(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]work.Delete{
		"too many":            *work.NewDelete(deletion(work.MaxDeleteMembers + 1)),
		"an unknown source":   {Members: []work.DeleteMember{{ID: "aabb"}}},
		"a source below zero": {Sources: []work.Identity{{}}, Members: []work.DeleteMember{{ID: "aabb", Source: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := d.Keys()
			require.Error(t, err)
		})
	}
}

func TestDeleteOutcome(t *testing.T) {
	t.Parallel()
	r := work.DeleteResult{Outcomes: "dgr?"}
	for i, want := range []work.DeleteOutcome{work.DeleteDone, work.DeleteGone, work.DeleteRefused} {
		got, ok := r.Outcome(i)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	for _, i := range []int{-1, 3, 4} {
		_, ok := r.Outcome(i)
		assert.False(t, ok, "what is not known is not taken for done")
	}
}
