// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func readSchemas(t *testing.T) map[string]schemagen.Schema {
	t.Helper()
	all, err := schemagen.Read(os.DirFS("../../../../charts/kopiur/crds"))
	require.NoError(t, err)
	return all
}

// generator of a test; another optional share makes fuller objects.
func generator(seed uint64, optional int) *schemagen.Generator {
	return &schemagen.Generator{Rand: rand.New(rand.NewPCG(seed, 3)), Optional: optional}
}

func made(kind string, spec any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kopiurv1.GroupVersion.WithKind(kind))
	o.SetName("made")
	return o
}

// What an API server takes, our types read. The objects are random; their texts are odd on purpose.
func TestWhateverIsTakenDecodes(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	s := runtime.NewScheme()
	require.NoError(t, kopiurv1.AddToScheme(s))
	for kind, schema := range readSchemas(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			taken := 0
			const tries = 120
			for seed := range uint64(tries) {
				o := made(kind, generator(seed, 5+int(seed%30)).Value(schema.Property("spec")))
				err := dryRun(t, env, o)
				if err != nil {
					require.True(t, apierrors.IsInvalid(err), "%v", err)
					continue
				}
				taken++
				typed, err := s.New(o.GroupVersionKind())
				require.NoError(t, err)
				raw, err := json.Marshal(o.Object)
				require.NoError(t, err)
				require.NoError(t, utiljson.Unmarshal(raw, typed), "%s", raw)
			}
			t.Logf("%d of %d taken", taken, tries)
			assert.Greater(t, taken, tries/20, "a test that takes nothing tests nothing")
		})
	}
}

// Fields that exclude each other are tried in random company. The rule speaks exactly when there is not one of them.
func TestExactlyOneOf(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for kind, schema := range readSchemas(t) {
		for _, u := range schema.Unions() {
			if u.Path[0] != "spec" {
				continue
			}
			t.Run(kind+"/"+u.String(), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(12) {
					g := generator(seed, 0)
					chosen := slices.Clone(u.Variants)
					g.Rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
					// None, one, two of them and so on.
					chosen = chosen[:int(seed)%min(4, len(chosen)+1)]
					o := made(kind, g.Value(schema.Property("spec")))
					holder, node := reach(t, g, o.Object, schema, u.Path)
					for _, name := range u.Variants {
						delete(holder, name)
						if nullable, _ := node.Property(name)["nullable"].(bool); nullable && seed%2 == 0 {
							holder[name] = nil // as good as not there
						}
						if slices.Contains(chosen, name) {
							holder[name] = g.Some(node.Property(name))
						}
					}
					err := dryRun(t, env, o)
					if n := len(chosen); n == 1 || n == 0 && !u.Needed {
						if err != nil {
							require.NotContains(t, err.Error(), u.Message, "%v", holder)
						}
						continue
					}
					require.ErrorContains(t, err, u.Message, "%v in %v", chosen, holder)
				}
			})
		}
	}
}

// reach makes the object at a path exist and returns it with its schema.
func reach(t *testing.T, g *schemagen.Generator, object map[string]any, s schemagen.Schema, path []string) (map[string]any, schemagen.Schema) {
	t.Helper()
	at := any(object)
	for i, step := range path {
		if step == "[]" {
			s = s.Items()
			continue // the list was filled on the way to it
		}
		holder, ok := at.(map[string]any)
		require.True(t, ok)
		// A variant on the way takes the place of the others.
		for _, u := range s.Unions() {
			if len(u.Path) == 0 && slices.Contains(u.Variants, step) {
				for _, name := range u.Variants {
					if name != step {
						delete(holder, name)
					}
				}
			}
		}
		s = s.Property(step)
		if holder[step] == nil {
			holder[step] = g.Some(s)
		}
		if i+1 < len(path) && path[i+1] == "[]" {
			list, ok := holder[step].([]any)
			if !ok || len(list) == 0 {
				list = []any{g.Some(s.Items())}
			}
			holder[step] = list[:1]
			at = list[0]
			continue
		}
		at = holder[step]
	}
	holder, ok := at.(map[string]any)
	require.True(t, ok)
	return holder, s
}
