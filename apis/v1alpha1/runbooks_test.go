// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryReasonHasANextStep: whoever meets a reason of a repository, policy or Snapshot in kubectl describe finds it in a
// runbook, unless its own text says that there is nothing to do. The page that is read here is made of the constants.
func TestEveryReasonHasANextStep(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "reference", "conditions.md"))
	require.NoError(t, err)
	runbooks, err := filepath.Glob(filepath.Join(docs, "runbooks", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, runbooks)
	known := map[string]bool{}
	for _, file := range runbooks {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
			known[word] = true
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*) \\|$")
	for _, kinds := range []string{
		"Reasons of conditions and events.", "Reasons of repositories.", "Reasons of Snapshots and Restores before their mover runs.", "Reasons of staging.",
		"Reasons of a mover's run and outcome.", "Reasons of Snapshots that wait.", "Reasons of deleting Snapshots.", "Reasons of policies and schedules.", "Reasons of sessions in which somebody looks into backups.",
	} {
		_, block, found := strings.Cut(string(page), "\n"+kinds)
		require.True(t, found, kinds)
		block, _, _ = strings.Cut(block, "\nReasons of ")
		reasons := rows.FindAllStringSubmatch(block, -1)
		assert.NotEmpty(t, reasons, kinds)
		for _, reason := range reasons {
			if name, text := reason[1], reason[2]; !known[name] {
				assert.Contains(t, text, "Nothing to do", "%s is in no runbook", name)
			}
		}
	}
}
