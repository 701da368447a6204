// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

func TestEach(t *testing.T) {
	t.Parallel()
	t.Run("each of them once", func(t *testing.T) {
		t.Parallel()
		seen := make([]atomic.Int32, 1000)
		require.NoError(t, loop.Each(t.Context(), len(seen), func(_ context.Context, i int) error {
			seen[i].Add(1)
			return nil
		}))
		for i := range seen {
			require.EqualValues(t, 1, seen[i].Load())
		}
	})
	t.Run("none of nothing", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, loop.Each(t.Context(), 0, func(context.Context, int) error { return errors.New("never") }))
	})
	t.Run("an error ends the others and is told", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		var begun atomic.Int32
		err := loop.Each(t.Context(), 1000, func(ctx context.Context, i int) error {
			begun.Add(1)
			if i == 0 {
				return broken
			}
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, broken)
		assert.Less(t, begun.Load(), int32(100), "nothing more is begun")
	})
	t.Run("a turn that ends, ends them", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, loop.Each(ctx, 3, func(context.Context, int) error { return nil }), context.Canceled)
	})
}

// TestWrites: what the cache has not seen yet is told from what it has, by versions that are compared by equality alone.
func TestWrites(t *testing.T) {
	t.Parallel()
	at := func(version string) *kopiurv1.Snapshot {
		s := &kopiurv1.Snapshot{}
		s.UID, s.ResourceVersion = "a", version
		return s
	}
	w := loop.NewWrites()
	assert.False(t, w.Behind(at("1")), "nothing was written")
	w.Did("a", "1", "2")
	w.Did("a", "2", "3")
	assert.True(t, w.Behind(at("1")))
	assert.True(t, w.Behind(at("2")), "between two writes of one turn")
	other := at("1")
	other.UID = "b"
	assert.False(t, w.Behind(other))
	assert.False(t, w.Behind(at("3")))
	assert.False(t, w.Behind(at("1")), "and then it is forgotten")
	w.Did("a", "3", "3")
	assert.False(t, w.Behind(at("3")), "what changes nothing is no write")
	assert.False(t, (*loop.Writes)(nil).Behind(at("1")), "where nobody takes notes, nothing is known")
}
