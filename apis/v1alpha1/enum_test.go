// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// constants reads the values of every typed string constant of this package.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, s := range decl.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				typ, ok := spec.Type.(*ast.Ident)
				if !ok {
					continue
				}
				for _, v := range spec.Values {
					if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						text, err := strconv.Unquote(lit.Value)
						require.NoError(t, err)
						out[typ.Name] = append(out[typ.Name], text)
					}
				}
			}
		}
	}
	return out
}

// enums walks a type and its schema side by side and notes what each named type may be.
func enums(t *testing.T, at string, typ reflect.Type, s schemagen.Schema, visit func(at string, typ reflect.Type, enum []string)) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case s == nil:
	case typ.Kind() == reflect.Slice && s.Items() != nil:
		enums(t, at+"[]", typ.Elem(), s.Items(), visit)
	case typ.Kind() == reflect.Map:
		values, _ := s["additionalProperties"].(map[string]any)
		enums(t, at+"[…]", typ.Elem(), values, visit)
	case typ.Kind() == reflect.Struct:
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				enums(t, at, f.Type, s, visit)
				continue
			}
			enums(t, at+"."+name, f.Type, s.Property(name), visit)
		}
	case typ.Kind() == reflect.String:
		var values []string
		if list, ok := s["enum"].([]any); ok {
			for _, v := range list {
				text, ok := v.(string)
				require.True(t, ok)
				values = append(values, text)
			}
		}
		visit(at, typ, values)
	default:
	}
}

// Case B-6: one source for what the schema takes and what the code writes. Each enum of the schema is a Go type with a
// constant per value; each Go type with constants is an enum of the schema with the same values.
func TestEnumsAreTheConstantsB6(t *testing.T) {
	t.Parallel()
	known := constants(t)
	scheme := runtime.NewScheme()
	require.NoError(t, kopiurv1.AddToScheme(scheme))
	seen := map[string]bool{}
	ours := reflect.TypeFor[kopiurv1.Repository]().PkgPath()
	for kind, s := range schemas(t) {
		o, err := scheme.New(kopiurv1.GroupVersion.WithKind(kind))
		require.NoError(t, err)
		for _, part := range []string{"spec", "status"} {
			f, ok := reflect.TypeOf(o).Elem().FieldByName(strings.ToUpper(part[:1]) + part[1:])
			require.True(t, ok)
			enums(t, kind+"."+part, f.Type, s.Property(part), func(at string, typ reflect.Type, enum []string) {
				values := known[typ.Name()]
				switch {
				case typ.PkgPath() != "" && typ.PkgPath() != ours: // Kubernetes' own
				case typ.PkgPath() == "" && enum != nil:
					assert.Fail(t, "an enum without a Go type", "%s takes %v", at, enum)
				case typ.PkgPath() == ours && len(values) > 0:
					seen[typ.Name()] = true
					assert.ElementsMatch(t, values, enum, "%s is a %s", at, typ.Name())
				case typ.PkgPath() == ours && enum != nil:
					assert.Fail(t, "an enum without constants", "%s is a %s", at, typ.Name())
				}
			})
		}
	}
	assert.Subset(t, slices.Collect(maps.Keys(seen)), []string{"RepositoryPhase", "SnapshotPhase", "RestorePhase", "CopyMethod", "DeletionPolicy"})
	for name := range known {
		assert.True(t, seen[name], "no schema has the constants of %s", name)
	}
}

// Who writes a phase names a constant: the compiler takes a text for any of them.
func TestPhasesAreWrittenByNameB6(t *testing.T) {
	t.Parallel()
	found := 0
	for _, module := range []string{"../../controller", "../../webhook", "../../apis/v1alpha1", "../../apis/validation"} {
		require.NoError(t, filepath.WalkDir(module, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, 0)
			require.NoError(t, err)
			literal := func(e ast.Expr) bool {
				lit, ok := e.(*ast.BasicLit)
				return ok && lit.Kind == token.STRING && lit.Value != `""`
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for i, left := range n.Lhs {
						if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Phase" && i < len(n.Rhs) {
							found++
							assert.False(t, literal(n.Rhs[i]), "%s: a phase as a text", fset.Position(n.Pos()))
						}
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Phase" {
						assert.False(t, literal(n.Value), "%s: a phase as a text", fset.Position(n.Pos()))
					}
				case *ast.CallExpr:
					if sel, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(sel.Sel.Name, "Phase") && len(n.Args) == 1 {
						pkg, ok := sel.X.(*ast.Ident)
						assert.False(t, ok && pkg.Name == "kopiurv1", "%s: a phase made from a text", fset.Position(n.Pos()))
					}
				}
				return true
			})
			return nil
		}))
	}
	assert.Positive(t, found, "somebody writes phases")
}
