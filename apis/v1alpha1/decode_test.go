// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func schemas(tb testing.TB) map[string]schemagen.Schema {
	tb.Helper()
	s, err := schemagen.Read(os.DirFS("../../charts/kopiur/crds"))
	require.NoError(tb, err)
	require.Len(tb, s, 9)
	return s
}

// decodes holds one object against the promise that nothing stored may blind a reconciler: whatever the schema admits is
// read, as part of a list too, and written again without a change.
func decodes(t *testing.T, scheme *runtime.Scheme, kind string, spec, status any) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"apiVersion": kopiurv1.GroupVersion.String(), "kind": kind, "metadata": map[string]any{"name": "a"}, "spec": spec, "status": status,
	})
	require.NoError(t, err)
	read := func(raw []byte, kind string) runtime.Object {
		o, err := scheme.New(kopiurv1.GroupVersion.WithKind(kind))
		require.NoError(t, err)
		require.NoError(t, utiljson.Unmarshal(raw, o), "%s", raw)
		return o
	}
	o := read(raw, kind)
	written, err := json.Marshal(o)
	require.NoError(t, err)
	again, err := json.Marshal(read(written, kind))
	require.NoError(t, err)
	assert.JSONEq(t, string(written), string(again))
	read([]byte(`{"items":[{"metadata":{"name":"first"}},`+string(raw)+`]}`), kind+"List")
}

// Whatever a schema admits decodes.
func FuzzSchemaValidObjectsDecode(f *testing.F) {
	all := schemas(f)
	scheme := runtime.NewScheme()
	require.NoError(f, kopiurv1.AddToScheme(scheme))
	for seed := range uint64(25) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &schemagen.Generator{Rand: rand.New(rand.NewPCG(seed, 1)), Optional: 10 + int(seed%80)}
		for kind, s := range all {
			decodes(t, scheme, kind, g.Value(s.Property("spec")), g.Value(s.Property("status")))
		}
	})
}
