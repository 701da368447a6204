// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Manifests are the objects of a page of the documentation by "Kind/name", with what differs here put in the place of what the
// page says. Everything to be replaced has to be there: the page is what is tested.
func Manifests(t *testing.T, page string, here map[string]string) map[string]*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	var text []string
	for _, block := range yamlBlock.FindAllStringSubmatch(string(raw), -1) {
		text = append(text, block[1])
	}
	all := strings.Join(text, "---\n")
	var pairs []string
	for there, instead := range here {
		require.Contains(t, all, there, page)
		pairs = append(pairs, there, instead)
	}
	out := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq(strings.NewReplacer(pairs...).Replace(all), "---\n") {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &o.Object), document)
		key := o.GetKind() + "/" + o.GetName()
		require.NotContains(t, out, key)
		out[key] = o
	}
	return out
}
