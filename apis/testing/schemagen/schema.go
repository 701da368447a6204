// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemagen makes random objects that a CRD's OpenAPI schema admits, odd texts and extreme numbers included: what
// users' clusters may hold, or an older version may have stored.
package schemagen

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Schema is an OpenAPI schema.
type Schema map[string]any

// Read reads the schemas of all kinds from a folder of CRDs.
func Read(crds fs.FS) (map[string]Schema, error) {
	files, err := fs.Glob(crds, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	out := map[string]Schema{}
	for _, name := range files {
		raw, err := fs.ReadFile(crds, name)
		if err != nil {
			return nil, fmt.Errorf("read CRD: %w", err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema Schema }
				}
			}
		}
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", name, err)
		}
		if len(crd.Spec.Versions) != 1 {
			return nil, fmt.Errorf("%s has %d versions, not one", name, len(crd.Spec.Versions))
		}
		out[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return out, nil
}

// Property is the schema of a field, nil if there is none.
func (s Schema) Property(name string) Schema { return sub(s["properties"], name) }

// Items is the schema of a list's items, nil if it is no list.
func (s Schema) Items() Schema { return sub(map[string]any(s), "items") }

func sub(node any, name string) Schema {
	m, _ := node.(map[string]any)
	child, ok := m[name].(map[string]any)
	if !ok {
		return nil
	}
	return child
}

func (s Schema) text(key string) string {
	v, _ := s[key].(string)
	return v
}

func (s Schema) is(key string) bool {
	v, _ := s[key].(bool)
	return v
}

func (s Schema) list(key string) []any {
	v, _ := s[key].([]any)
	return v
}

// number reads a bound, def where there is none.
func (s Schema) number(key string, def int64) int64 {
	switch v := s[key].(type) {
	case float64:
		return int64(v)
	case int64:
		return v
	default:
		return def
	}
}

// Union is an object of which a number of fields exclude each other.
type Union struct {
	// Path to the object from the root; an element is a field, or [] for the items of a list.
	Path []string
	// Variants are the fields.
	Variants []string
	// Needed is set where one of them has to be there.
	Needed bool
	// Message of the rule.
	Message string
}

var (
	union   = regexp.MustCompile(`^\(has\(self\.\w+\).* \? 1 : 0\) \+ .* (==|<=) 1$`)
	variant = regexp.MustCompile(`\(has\(self\.(\w+)\)`)
)

// union is the rule of this very object, if it has one.
func (s Schema) union() (Union, bool) {
	for _, v := range s.list("x-kubernetes-validations") {
		rule, ok := v.(map[string]any)
		if !ok {
			continue
		}
		text, _ := rule["rule"].(string)
		m := union.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		u := Union{Needed: m[1] == "=="}
		u.Message, _ = rule["message"].(string)
		for _, name := range variant.FindAllStringSubmatch(text, -1) {
			u.Variants = append(u.Variants, name[1])
		}
		return u, true
	}
	return Union{}, false
}

// Unions lists all of a schema.
func (s Schema) Unions() []Union {
	var out []Union
	s.Walk(func(at []string, node Schema) {
		if u, ok := node.union(); ok {
			u.Path = at
			out = append(out, u)
		}
	})
	return out
}

// Walk visits every schema with its path.
func (s Schema) Walk(visit func(at []string, node Schema)) { s.walk(nil, visit) }

func (s Schema) walk(at []string, visit func([]string, Schema)) {
	visit(at, s)
	properties, _ := s["properties"].(map[string]any)
	for name := range properties {
		s.Property(name).walk(append(slices.Clip(at), name), visit)
	}
	if items := s.Items(); items != nil {
		items.walk(append(slices.Clip(at), "[]"), visit)
	}
}

// String is the path as people write it.
func (u Union) String() string {
	return strings.ReplaceAll(strings.Join(u.Path, "."), ".[]", "[]")
}
