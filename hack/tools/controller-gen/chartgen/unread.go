// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// checkUnread fails on every field of a spec that no code reads and no page admits. A field that does nothing is worse
// than one that is missing: people believe in it.
//
//	page      the page that lists what is not carried out yet; its fields, and all below them, may be unread
//	accounted lines "Kind path reason" of fields that are read elsewhere, such as by admission alone
func checkUnread(w io.Writer, api, page, accounted string, patterns []string) error {
	f, err := readFields(api, patterns)
	if err != nil {
		return err
	}
	return f.check(w, page, accounted)
}

// fields are the API package and the struct fields that code reads.
type fields struct {
	own  *types.Package
	read map[types.Object]bool
}

func readFields(api string, patterns []string) (*fields, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
	}, append([]string{api}, patterns...)...)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, errors.New("the packages do not build")
	}
	out := &fields{read: map[types.Object]bool{}}
	for _, p := range pkgs {
		if p.PkgPath == api {
			out.own = p.Types
		}
		for i, file := range p.Syntax {
			if strings.HasPrefix(base(p.GoFiles[i]), "zz_generated") {
				continue
			}
			collect(p.TypesInfo, file, out.read)
		}
	}
	if out.own == nil {
		return nil, fmt.Errorf("package %s was not loaded", api)
	}
	return out, nil
}

func (f *fields) check(w io.Writer, page, accounted string) error {
	excused, err := excuses(page, accounted)
	if err != nil {
		return err
	}
	var unread []string
	total := 0
	for _, kind := range kindsOf(f.own) {
		if excused[kind+" *"] {
			continue
		}
		walkFields(f.own, "spec", f.own.Scope().Lookup(kind+"Spec").Type(), func(path string, field *types.Var) bool {
			total++
			if excused[kind+" "+path] {
				return false
			}
			if !f.read[field] {
				// A struct that is there only for fields that are excused.
				if below(excused, kind+" "+path+".") {
					return true
				}
				unread = append(unread, kind+" "+path)
				return false
			}
			return true
		})
	}
	if len(unread) > 0 {
		return fmt.Errorf("nothing reads these fields, and %s does not say so:\n  %s", page, strings.Join(unread, "\n  "))
	}
	fmt.Fprintf(w, "%d fields of specs are read by the controller or listed\n", total)
	return nil
}

func below(excused map[string]bool, prefix string) bool {
	for path := range excused {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// collect notes the struct fields that a file reads: by selector, or all of them where a struct is converted to another
// type. What is only written, in a composite literal, does not count.
func collect(info *types.Info, file *ast.File, read map[types.Object]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if sel := info.Selections[n]; sel != nil && sel.Kind() == types.FieldVal {
				read[sel.Obj()] = true
				// Fields that are promoted through embedded structs are read on the way.
				t := sel.Recv()
				for _, i := range sel.Index() {
					if s, ok := deref(t).Underlying().(*types.Struct); ok {
						read[s.Field(i)] = true
						t = s.Field(i).Type()
					}
				}
			}
		case *ast.CallExpr:
			if tv := info.Types[n.Fun]; tv.IsType() && len(n.Args) == 1 {
				if s, ok := info.TypeOf(n.Args[0]).Underlying().(*types.Struct); ok {
					for f := range s.Fields() {
						read[f] = true
					}
				}
			}
		}
		return true
	})
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// kindsOf lists the kinds of the API package: types X with an XSpec and an XList.
func kindsOf(p *types.Package) []string {
	var out []string
	for _, name := range p.Scope().Names() {
		if p.Scope().Lookup(name+"Spec") != nil && p.Scope().Lookup(name+"List") != nil {
			out = append(out, name)
		}
	}
	return out
}

// walkFields calls visit for every field of our own types below t, by its path; visit says whether to go deeper.
func walkFields(own *types.Package, at string, t types.Type, visit func(path string, field *types.Var) bool) {
	switch u := t.(type) {
	case *types.Pointer:
		walkFields(own, at, u.Elem(), visit)
		return
	case *types.Slice:
		walkFields(own, at, u.Elem(), visit)
		return
	case *types.Map:
		walkFields(own, at, u.Elem(), visit)
		return
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() != own {
		return
	}
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		name, _, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if name == "" {
			walkFields(own, at, f.Type(), visit)
			continue
		}
		if path := at + "." + name; visit(path, f) {
			walkFields(own, path, f.Type(), visit)
		}
	}
}

var pageRow = regexp.MustCompile("^\\| ([A-Za-z, ]+) \\| (?:`([A-Za-z.]+)(: [^`]*)?`)?")

// excuses reads the page and the list of fields that are accounted for elsewhere. A row about one value of a field
// excuses the field: the other values ask for nothing.
func excuses(page, accounted string) (map[string]bool, error) {
	out := map[string]bool{}
	raw, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		m := pageRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for kind := range strings.SplitSeq(m[1], ", ") {
			if m[2] == "" {
				out[kind+" *"] = true
			} else {
				out[kind+" "+m[2]] = true
			}
		}
	}
	f, err := os.Open(accounted)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			return nil, fmt.Errorf("%s: %q needs a kind, a path and a reason", accounted, line)
		}
		for kind := range strings.SplitSeq(words[0], ",") {
			out[kind+" "+words[1]] = true
		}
	}
	return out, nil
}
