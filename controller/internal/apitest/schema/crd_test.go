// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// crd is one of ours as the API server has it.
func crd(t *testing.T, env *testenv.Env, plural string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKey{Name: plural + "." + kopiurv1.GroupName}, o))
	return o
}

// version is the only version of a CRD.
func version(t *testing.T, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(o.Object, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 1)
	return versions[0].(map[string]any)
}

// specSchema is the OpenAPI schema of a kind's spec.
func specSchema(t *testing.T, env *testenv.Env, plural string) map[string]any {
	t.Helper()
	spec, ok, err := unstructured.NestedMap(version(t, crd(t, env, plural)), "schema", "openAPIV3Schema", "properties", "spec")
	require.NoError(t, err)
	require.True(t, ok)
	return spec
}

// nulls writes null into every optional field of the spec, one at a time: into those that the object has, and into those
// it could have beside them. The API server has to take it for a field that was left out (manifests from templates are
// full of them). A union loses its only variant by it, which is refused; required says where else null may be refused.
func nulls(t *testing.T, env *testenv.Env, plural string, o *unstructured.Unstructured, required ...string) {
	t.Helper()
	var paths [][]string
	var walk func(at []string, node, property map[string]any)
	walk = func(at []string, node, property map[string]any) {
		properties, _ := property["properties"].(map[string]any)
		needed, _ := property["required"].([]any)
		for name, p := range properties {
			here := append(slices.Clone(at), name)
			if !slices.Contains(needed, any(name)) {
				paths = append(paths, here)
			}
			if child, ok := node[name].(map[string]any); ok {
				walk(here, child, p.(map[string]any))
			}
		}
	}
	walk([]string{"spec"}, o.Object["spec"].(map[string]any), specSchema(t, env, plural))
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			t.Parallel()
			c := o.DeepCopy()
			require.NoError(t, unstructured.SetNestedField(c.Object, nil, path...))
			err := dryRun(t, env, c)
			if err != nil && (strings.Contains(err.Error(), "exactly one of") || slices.Contains(required, strings.Join(path, "."))) {
				return
			}
			require.NoError(t, err)
		})
	}
}

// olderThanTheRules stores objects under a copy of the CRD that has no rules yet, then gives it the rules. Whatever the
// rules say about the objects, their status, finalizers and labels must stay writable: a reconciler that cannot write
// those cannot even let an object go.
func olderThanTheRules(t *testing.T, env *testenv.Env, plural string, objects map[string]*unstructured.Unstructured) {
	t.Helper()
	definition := crd(t, env, plural)
	group := fmt.Sprintf("old%08x.%s", rand.Uint32(), kopiurv1.GroupName)
	older := &unstructured.Unstructured{Object: map[string]any{"spec": definition.DeepCopy().Object["spec"]}}
	older.SetGroupVersionKind(definition.GroupVersionKind())
	older.SetName(plural + "." + group)
	spec := older.Object["spec"].(map[string]any)
	spec["group"] = group
	delete(spec, "conversion")
	names := spec["names"].(map[string]any)
	delete(names, "shortNames")
	delete(names, "categories")
	rules := version(t, older)
	withoutRules(version(t, older))
	dull, _ := spec["versions"].([]any)
	withoutRules(dull[0])
	require.NoError(t, env.Client.Create(t.Context(), older))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = env.Client.Delete(ctx, older)
	})
	for _, o := range objects {
		o.SetAPIVersion(group + "/" + kopiurv1.GroupVersion.Version)
		namespaced(env, o)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			require.NoError(c, env.Client.Create(t.Context(), o))
		}, testenv.Wait, testenv.Tick, "the API server serves the copy")
		drop(t, env, o)
	}
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKeyFromObject(older), older))
	older.Object["spec"].(map[string]any)["versions"] = []any{rules}
	require.NoError(t, env.Client.Update(t.Context(), older))
	for name, o := range objects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := o.DeepCopy()
			again.SetResourceVersion("")
			again.SetName(o.GetName() + "-again")
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				require.Error(c, env.Client.Create(t.Context(), again.DeepCopy(), client.DryRunAll), "the rules refuse a new one")
			}, testenv.Wait, testenv.Tick)
			for what, patch := range map[string]string{
				"a finalizer": `{"metadata":{"finalizers":["kopiur.home-operations.com/test"]}}`,
				"a label":     `{"metadata":{"labels":{"test":"yes"}}}`,
				"its end":     `{"metadata":{"finalizers":null}}`,
			} {
				require.NoError(t, env.Client.Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))), what)
			}
			status := []byte(`{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"InvalidSpec","message":"","lastTransitionTime":"2026-03-05T09:00:00Z"}]}}`)
			require.NoError(t, env.Client.Status().Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", status)), "status")
		})
	}
}

// withoutRules removes every rule of a schema: CEL, patterns, lengths and bounds.
func withoutRules(node any) {
	switch n := node.(type) {
	case map[string]any:
		for _, rule := range []string{"x-kubernetes-validations", "pattern", "maxLength", "minLength", "minimum", "maximum", "maxItems", "minItems", "maxProperties"} {
			// A field may have the name of a rule; its value is a schema then.
			if _, isSchema := n[rule].(map[string]any); !isSchema {
				delete(n, rule)
			}
		}
		for _, v := range n {
			withoutRules(v)
		}
	case []any:
		for _, v := range n {
			withoutRules(v)
		}
	}
}

// columns are the names of what kubectl get prints.
func columns(t *testing.T, env *testenv.Env, plural string) []string {
	t.Helper()
	cfg := rest.CopyConfig(env.Config)
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &kopiurv1.GroupVersion, "/apis", scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	require.NoError(t, err)
	raw, err := c.Get().Resource(plural).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	require.NoError(t, err)
	var table struct {
		ColumnDefinitions []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(raw, &table))
	var out []string
	for _, c := range table.ColumnDefinitions {
		out = append(out, c.Name)
	}
	return out
}

// names checks how people call a kind on the command line.
func names(t *testing.T, env *testenv.Env, plural, short string) {
	t.Helper()
	definition := crd(t, env, plural)
	shorts, _, err := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
	require.NoError(t, err)
	assert.Equal(t, []string{short}, shorts)
	categories, _, err := unstructured.NestedStringSlice(definition.Object, "spec", "names", "categories")
	require.NoError(t, err)
	assert.Equal(t, []string{"kopiur"}, categories)
	assert.Contains(t, version(t, definition)["subresources"], "status")
}
