// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kopiur/kopiur/apis/testing/corpus"
	"github.com/kopiur/kopiur/apis/validation"
)

// applied is a document as one of this test's objects.
func (e *env) applied(t *testing.T, d validation.Document) error {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, sigsyaml.Unmarshal(d.Text, &o.Object))
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelTest] = e.name
	o.SetLabels(labels)
	o.SetResourceVersion("")
	if d.Kind != "ClusterRepository" {
		// Its own: rules compare it with those of what it refers to.
		if o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
		err := e.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}})
		require.NoError(t, client.IgnoreAlreadyExists(err))
	}
	return e.client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
}

// The whole way that a manifest takes: the API server's field validation, the schema and the webhook. Everything in the
// corpus passes or is refused at the moment when it is applied, with the words that it begins with.
func TestCorpus(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.call(e.start())
	e.admits()
	manifests := os.DirFS(root + "/apis/validation/testdata/corpus")

	good, err := corpus.ReadGood(manifests)
	require.NoError(t, err)
	count := 0
	for _, f := range good {
		for _, d := range validation.Decode(f.Text) {
			if d.Object == nil {
				continue // a Secret, a claim
			}
			count++
			require.NoError(t, e.applied(t, d), "%s, document %d", f.Name, d.Number)
		}
	}
	assert.GreaterOrEqual(t, count, 60)

	bad, err := corpus.ReadBad(manifests)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(bad), 80)
	for _, f := range bad {
		d := validation.Decode(f.Text)[0]
		if len(d.Problems) > 0 && !strings.Contains(d.Problems[0].Field, ".") {
			continue // no object that a client could send
		}
		err := e.applied(t, d)
		require.Error(t, err, f.Name)
		// What is no object of its kind, or against the schema, is answered by the API server, in its own words.
		if text := err.Error(); len(d.Problems) == 0 && strings.Contains(text, "admission webhook") {
			assert.Contains(t, text, f.Want, f.Name)
		}
	}
}
