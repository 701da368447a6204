// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// TestACacheThatIsKept has the source's indexes from copy to copy, and goes with the replication.
func TestACacheThatIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(l *lab) {
		l.repl.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi", StorageClassName: "fast"}}
	})
	l.ready()
	assert.Empty(t, l.KeptCaches(l.repl), "before the first copy nobody needs it")
	l.copied()
	claims := l.KeptCaches(l.repl)
	require.Len(t, claims, 1)
	assert.Regexp(t, "^kopiur-cache-offsite-[0-9a-f]{8}$", claims[0].Name)
	assert.Equal(t, "fast", *claims[0].Spec.StorageClassName)
	require.Len(t, l.copies(), 1)
	assert.Equal(t, claims[0].Name, l.CacheOf(l.copies()[0]))
}
