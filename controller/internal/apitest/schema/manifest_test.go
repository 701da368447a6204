// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// rows are fragments of a spec and what the API server says about them: "" is nothing, else a part of the error.
type rows map[string]struct{ fragment, want string }

// manifest is an object of a kind with a spec in YAML.
func manifest(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": object(t, spec)}}
	o.SetGroupVersionKind(kopiurv1.GroupVersion.WithKind(kind))
	o.SetName(name)
	return o
}

// object reads YAML. null stays: it is what some rows are about.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &out))
	return out
}

// with replaces keys of the spec by those of a fragment.
func with(t *testing.T, o *unstructured.Unstructured, fragment string) *unstructured.Unstructured {
	t.Helper()
	o = o.DeepCopy()
	spec, ok := o.Object["spec"].(map[string]any)
	require.True(t, ok)
	maps.Copy(spec, object(t, fragment))
	return o
}

// dryRun creates the object without keeping it. What the API server made of it is in the object.
func dryRun(t *testing.T, env *testenv.Env, o *unstructured.Unstructured) error {
	t.Helper()
	namespaced(env, o)
	return env.Client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
}

func namespaced(env *testenv.Env, o *unstructured.Unstructured) {
	if o.GetKind() != "ClusterRepository" {
		o.SetNamespace(env.Namespace)
	}
}

// check creates the base with every row's fragment, without keeping it.
func check(t *testing.T, env *testenv.Env, base *unstructured.Unstructured, table rows) {
	t.Helper()
	for name, tc := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, dryRun(t, env, with(t, base, tc.fragment)), tc.want)
		})
	}
}

// says compares an answer with what is wanted.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, want)
}

// change creates an object for good, then updates it with every row's fragment without keeping that.
func change(t *testing.T, env *testenv.Env, base *unstructured.Unstructured, table rows) {
	t.Helper()
	stored := base.DeepCopy()
	namespaced(env, stored)
	require.NoError(t, env.Client.Create(t.Context(), stored))
	drop(t, env, stored)
	for name, tc := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, env.Client.Update(t.Context(), with(t, stored, tc.fragment), client.DryRunAll), tc.want)
		})
	}
}

// drop deletes an object at the end of the test, also where a finalizer is in the way.
func drop(t *testing.T, env *testenv.Env, o *unstructured.Unstructured) {
	t.Helper()
	o = o.DeepCopy()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = env.Client.Delete(ctx, o)
		_ = env.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
}

// defaults are what the API server adds to a spec. A null that it keeps is the same as nothing.
func defaults(t *testing.T, env *testenv.Env, o *unstructured.Unstructured, wantSpec string) {
	t.Helper()
	require.NoError(t, dryRun(t, env, o))
	assert.Equal(t, object(t, wantSpec), withoutNulls(plain(t, o.Object["spec"])))
}

func withoutNulls(m map[string]any) map[string]any {
	for key, value := range m {
		switch v := value.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			withoutNulls(v)
		case []any:
			for _, item := range v {
				if o, ok := item.(map[string]any); ok {
					withoutNulls(o)
				}
			}
		}
	}
	return m
}

// plain reads an object through JSON, so that numbers compare.
func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(v)
	require.NoError(t, err)
	return object(t, string(text))
}
