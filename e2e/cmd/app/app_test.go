// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func runApp(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := app{in: strings.NewReader(""), out: &out}.run(t.Context(), args)
	return out.String(), err
}

func fillTree(t *testing.T, seed string) string {
	t.Helper()
	dir := t.TempDir()
	_, err := runApp(t, "fill", "--seed", seed, "--files", "60", "--sparse", "1048576", dir)
	require.NoError(t, err)
	return dir
}

func TestTreesOfOneSeedAreAlike(t *testing.T) {
	t.Parallel()
	a, b, c := fillTree(t, "7"), fillTree(t, "7"), fillTree(t, "8")
	out, err := runApp(t, "compare", "--ignore", "", a, b)
	// The folder itself is the test's; fill leaves its time alone.
	require.Equal(t, exitError(1), err)
	assert.Contains(t, out, "1 differences")
	assert.Contains(t, out, "\".\": mtime")
	_, err = runApp(t, "compare", a, c)
	require.Error(t, err)
}

func TestCompareNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	one := item{Path: "a", Type: "file", Mode: "0644", SHA256: "x"}
	mode := one
	mode.Mode = "0600"
	for name, test := range map[string]struct {
		left, right []item
		skip        map[string]bool
		want        []string
	}{
		"equal trees have no differences":     {left: []item{one}, right: []item{one}},
		"a file is missing":                   {left: []item{one}, want: []string{"\"a\": only in the first"}},
		"a file is new":                       {right: []item{one}, want: []string{"\"a\": only in the second"}},
		"a mode differs":                      {left: []item{one}, right: []item{mode}, want: []string{"\"a\": mode is \"0644\" and \"0600\""}},
		"a mode differs but is not looked at": {left: []item{one}, right: []item{mode}, skip: map[string]bool{"mode": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, diff(test.left, test.right, test.skip))
		})
	}
}

func TestManifestCanBeComparedLater(t *testing.T) {
	t.Parallel()
	tree := fillTree(t, "3")
	manifest, err := runApp(t, "manifest", tree)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "manifest")
	require.NoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	_, err = runApp(t, "compare", file, tree)
	require.NoError(t, err)

	_, err = runApp(t, "wipe", tree)
	require.NoError(t, err)
	rest, err := os.ReadDir(tree)
	require.NoError(t, err)
	assert.Empty(t, rest)
}

func TestFillLeavesHoles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(fillTree(t, "1"), "sparse")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.EqualValues(t, 1<<20, info.Size())
	out, err := runApp(t, "allocated", file)
	require.NoError(t, err)
	size, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	assert.Less(t, size, 1<<19)
}

func TestFillKeepsToTheLargestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := runApp(t, "fill", "--files", "60", "--largest", "100", "--sparse", "0", dir)
	require.NoError(t, err)
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if strings.HasPrefix(filepath.Base(path), "file-") {
			assert.LessOrEqual(t, info.Size(), int64(100), path)
		}
		return err
	}))
}

func TestWriteMakesTheFoldersItNeeds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a", "b")
	for _, args := range [][]string{{"write", file, "x"}, {"write", "--append", file, "y"}} {
		_, err := runApp(t, args...)
		require.NoError(t, err)
	}
	out, err := runApp(t, "cat", file)
	require.NoError(t, err)
	assert.Equal(t, "xy", out)
}
