// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryReasonIsInTheRunbook reads the program: each condition and reason that is named where Restores are decided and
// written, or at the gates before them, begins a paragraph of the runbook or is in bold in one.
func TestEveryReasonIsInTheRunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/runbooks/restore.md")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, bold := range regexp.MustCompile(`\*\*([^*]+)\*\*`).FindAllStringSubmatch(string(page), -1) {
		for word := range strings.FieldsFuncSeq(bold[1], func(r rune) bool { return strings.ContainsRune(" ,.\n", r) }) {
			told[word] = true
		}
	}
	values := map[string]string{}
	inFiles(t, "../../../../apis/v1alpha1", func(n ast.Node) {
		if c, ok := n.(*ast.ValueSpec); ok && len(c.Values) == 1 {
			if v, ok := c.Values[0].(*ast.BasicLit); ok && v.Kind == token.STRING {
				values[c.Names[0].Name], _ = strconv.Unquote(v.Value)
			}
		}
	})
	// The gates are those of other kinds as well: these open or close for who writes to a repository, and for maintenance.
	others := map[string]bool{"RepositoryReadOnly": true, "BootstrapDeadlineExceeded": true, "ProbeDeadlineExceeded": true}
	seen := map[string]bool{}
	for _, dir := range []string{".", "../../restore", "../../gates", "../../projection", "../../streamaccess"} {
		inFiles(t, dir, func(n ast.Node) {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(s.Sel.Name, "Reason") && !strings.HasPrefix(s.Sel.Name, "Condition") {
				return
			}
			if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != "kopiurv1" {
				return
			}
			value := values[s.Sel.Name]
			require.NotEmpty(t, value, s.Sel.Name)
			seen[value] = true
			assert.True(t, told[value] || others[value], "docs/runbooks/restore.md has nothing about %s", value)
		})
	}
	assert.Greater(t, len(seen), 40, "there are more than these")
}

// inFiles shows every part of a package's program.
func inFiles(t *testing.T, dir string, see func(ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, dir)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if n != nil {
				see(n)
			}
			return true
		})
	}
}
