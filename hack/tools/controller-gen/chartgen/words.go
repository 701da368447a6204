// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// writeConditions lists the condition types and reasons of the API package below dir, with the comments that say when each
// is set and what to do: those of conditions.go, reasons.go and the files that end so. People meet these words in kubectl describe; what explains them must not lag behind.
func writeConditions(file, dir string) error {
	var b strings.Builder
	b.WriteString(docHeader + "# Conditions and reasons\n\nWhat `kubectl describe` shows, and what to do about it.\n")
	for _, part := range []struct{ source, title string }{{"*conditions.go", "Conditions"}, {"*reasons.go", "Reasons"}} {
		fmt.Fprintf(&b, "\n## %s\n", part.title)
		files, err := filepath.Glob(filepath.Join(dir, part.source))
		if err != nil {
			return err
		}
		for _, source := range files {
			if err := constants(&b, source); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// constants writes a table per const block. A constant without a comment is an error: nobody could look it up.
func constants(b *strings.Builder, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	for _, decl := range parsed.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		fmt.Fprintf(b, "\n%s\n\n| | |\n|---|---|\n", strings.TrimSpace(block.Doc.Text()))
		for _, spec := range block.Specs {
			v := spec.(*ast.ValueSpec)
			word, ok := v.Values[0].(*ast.BasicLit)
			if !ok || v.Doc == nil {
				return fmt.Errorf("%s: %s needs a literal value and a comment", file, v.Names[0].Name)
			}
			text := strings.TrimPrefix(strings.TrimSpace(v.Doc.Text()), v.Names[0].Name)
			text = strings.TrimLeft(text, ": ")
			fmt.Fprintf(b, "| `%s` | %s |\n", strings.Trim(word.Value, `"`), cell(text))
		}
	}
	return nil
}
