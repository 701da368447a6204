// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schemagen_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
)

func read(t *testing.T) map[string]schemagen.Schema {
	t.Helper()
	all, err := schemagen.Read(os.DirFS("../../../charts/kopiur/crds"))
	require.NoError(t, err)
	require.Len(t, all, 9)
	return all
}

// A field that is never made is a field that no fuzz test looks at.
func TestEveryFieldIsMade(t *testing.T) {
	t.Parallel()
	for kind, s := range read(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := &schemagen.Generator{Rand: rand.New(rand.NewPCG(1, 2)), Optional: 100}
			s.Walk(func(at []string, node schemagen.Schema) {
				properties, ok := node["properties"].(map[string]any)
				if !ok || len(at) == 0 {
					return
				}
				missing := maps.Clone(properties)
				for i := 0; i < 400 && len(missing) > 0; i++ {
					value, ok := g.Some(node).(map[string]any)
					require.True(t, ok)
					for name := range value {
						delete(missing, name)
					}
				}
				assert.Empty(t, slices.Collect(maps.Keys(missing)), "%v", at)
			})
		})
	}
}

func TestTheSameSeedMakesTheSame(t *testing.T) {
	t.Parallel()
	s := read(t)["SnapshotPolicy"].Property("spec")
	value := func() any {
		return (&schemagen.Generator{Rand: rand.New(rand.NewPCG(7, 7)), Optional: 50}).Value(s)
	}
	first, second := value(), value()
	assert.Equal(t, first, second)
}

func TestUnionsAreFound(t *testing.T) {
	t.Parallel()
	var found []string
	for kind, s := range read(t) {
		for _, u := range s.Unions() {
			assert.GreaterOrEqual(t, len(u.Variants), 2)
			assert.NotEmpty(t, u.Message)
			found = append(found, kind+" "+u.String())
		}
	}
	assert.Subset(t, found, []string{
		"Repository spec.backend", "Repository spec.backend.s3.auth", "SnapshotPolicy spec", "SnapshotPolicy spec.sources[]",
		"SnapshotPolicy spec.hooks.beforeSnapshot[]", "Restore spec.source", "Restore spec.target", "SnapshotReplication spec.pruning",
		"ClusterRepository spec.allowedNamespaces", "SnapshotSchedule spec",
	})
}
