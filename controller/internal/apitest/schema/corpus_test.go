// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kopiur/kopiur/apis/testing/corpus"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// manifests of all kinds, good and bad.
var manifests = os.DirFS("../../../../apis/validation/testdata/corpus")

// apply sends a document as it is written, the way that kubectl apply --validate=strict does, and keeps nothing. The
// namespace is the test's.
func apply(ctx context.Context, t *testing.T, env *testenv.Env, d validation.Document) error {
	t.Helper()
	gv, err := schema.ParseGroupVersion(d.APIVersion)
	require.NoError(t, err)
	mapping, err := env.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: gv.Group, Kind: d.Kind}, gv.Version)
	if err != nil {
		return err
	}
	cfg := rest.CopyConfig(env.Config)
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &gv, "/apis", scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	require.NoError(t, err)
	text := regexp.MustCompile(`\b(namespace"?: *"?)`+regexp.QuoteMeta(d.Namespace)+`\b`).ReplaceAll(d.Text, []byte("${1}"+env.Namespace))
	request := c.Post().Resource(mapping.Resource.Resource).
		Param("dryRun", "All").Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/yaml").Body(text)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		request = request.Namespace(env.Namespace)
	}
	return request.Do(ctx).Error()
}

// What people write applies with the schemas alone: defaults, strictness and rules included.
func TestGoodCorpusApplies(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	files, err := corpus.ReadGood(manifests)
	require.NoError(t, err)
	count := 0
	for _, f := range files {
		for _, d := range validation.Decode(f.Text) {
			if d.Object == nil {
				continue // a Secret, a claim
			}
			count++
			require.NoError(t, apply(t.Context(), t, env, d), "%s, document %d", f.Name, d.Number)
		}
	}
	assert.GreaterOrEqual(t, count, 60)
	t.Logf("%d manifests applied", count)
}

// The API server refuses all that the strict decoder does, and what the schema's own rules name. The rest is left to the
// webhook, which holds the same corpus against the whole of apis/validation.
func TestBadCorpusIsRefused(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	files, err := corpus.ReadBad(manifests)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(files), 80)
	var refused atomic.Int32
	t.Run("each", func(t *testing.T) {
		t.Parallel()
		t.Cleanup(func() { t.Logf("%d of %d refused without a webhook", refused.Load(), len(files)) })
		for _, f := range files {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				documents := validation.Decode(f.Text)
				require.Len(t, documents, 1)
				err := apply(t.Context(), t, env, documents[0])
				if err != nil {
					refused.Add(1)
				}
				if f.Schema != "" {
					require.ErrorContains(t, err, f.Schema)
				}
				for _, p := range documents[0].Problems {
					if strings.Contains(p.Field, ".jobSpec.") {
						continue // to the schema it is any object
					}
					require.Error(t, err, p)
					if strings.Contains(p.Message, "there is no such field") {
						require.ErrorContains(t, err, "unknown field")
					}
				}
			})
		}
	})
}
