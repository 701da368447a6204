// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/testing/corpus"
	"github.com/kopiur/kopiur/apis/validation"
)

// said is everything that is wrong with a stream: what cannot be read, else what is not valid.
func said(stream []byte) (text string, objects int) {
	documents := validation.Decode(stream)
	var out []string
	if err := validation.Problems(documents); err != nil {
		out = append(out, err.Error())
	}
	for _, d := range documents {
		if d.Object == nil {
			continue
		}
		objects++
		if err := validation.Object(d.Object).Err(); err != nil {
			out = append(out, err.Error())
		}
	}
	return strings.Join(out, "\n"), objects
}

// Whatever people write for Kopiur applies unchanged.
func TestGoodCorpus(t *testing.T) {
	t.Parallel()
	files, err := corpus.ReadGood(os.DirFS("testdata/corpus"))
	require.NoError(t, err)
	count := 0
	for _, f := range files {
		text, objects := said(f.Text)
		assert.Empty(t, text, f.Name)
		assert.Positive(t, objects, f.Name)
		count += objects
	}
	assert.GreaterOrEqual(t, count, 60)
	t.Logf("%d files with %d objects", len(files), count)
}

// Every mistake is answered with a sentence that names the field and the fix.
func TestBadCorpus(t *testing.T) {
	t.Parallel()
	files, err := corpus.ReadBad(os.DirFS("testdata/corpus"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(files), 80)
	kinds := map[string]bool{}
	for _, f := range files {
		if documents := validation.Decode(f.Text); f.Want != "" && len(documents) == 1 {
			kinds[documents[0].Kind] = true
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			documents := validation.Decode(f.Text)
			require.Len(t, documents, 1, "one mistake, one object")
			text, _ := said(f.Text)
			if f.Want == "" {
				// Held against an API server, where there is one.
				assert.Empty(t, text, "this is said here, too: write # want")
				return
			}
			assert.Contains(t, text, f.Want)
		})
	}
	for _, kind := range validation.Kinds() {
		assert.True(t, kinds[kind], "nothing bad is known of %s", kind)
	}
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/examples/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		text, _ := said(raw)
		assert.Empty(t, text, file)
	}
}
