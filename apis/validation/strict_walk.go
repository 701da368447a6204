// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// walk holds what somebody wrote against the Go types, so that a new field is known the moment it exists. Values are
// not repeated in what it says: one may be a password that somebody forgot to quote.
type walk struct {
	root reflect.Type
	tree map[string]any
	// kind of the object, "" for a part of one.
	kind     string
	problems []Problem
}

// misfits are the parts of a value that a type cannot be read from.
func misfits(value any, t reflect.Type) []Problem {
	object, ok := value.(map[string]any)
	if !ok {
		return []Problem{{Message: "this takes an object, not " + shape(value)}}
	}
	w := &walk{root: t, tree: object}
	w.structure(nil, object, t, false)
	return w.problems
}

// under is a path below another.
func under(at, below string) string {
	if below == "" {
		return at
	}
	return at + "." + below
}

// emptyVariants are chosen by being there, with {} as their value: null would be dropped on the way.
var emptyVariants = []string{"populator", "snapshot", "none", "mirrorSource", "generate"}

var (
	unmarshaler = reflect.TypeFor[stdjson.Unmarshaler]()
	rawObject   = reflect.TypeFor[runtime.RawExtension]()
	ourPackage  = reflect.TypeFor[kopiurv1.Repository]().PkgPath()
)

func (w *walk) problem(at place, format string, args ...any) {
	w.problems = append(w.problems, Problem{Field: at.String(), Message: fmt.Sprintf(format, args...)})
}

// fieldsOf lists the JSON fields of a struct, inlined ones included, in their order.
func fieldsOf(t reflect.Type) []jsonField {
	var out []jsonField
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			out = append(out, fieldsOf(deref(f.Type))...)
		case name != "":
			out = append(out, jsonField{name, f.Type, !strings.Contains(options, "omit") && t.PkgPath() == ourPackage})
		}
	}
	return out
}

type jsonField struct {
	name     string
	t        reflect.Type
	required bool
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// structure checks the fields of an object. Whether they are all there matters in what a user writes, below spec.
func (w *walk) structure(at place, object map[string]any, t reflect.Type, complete bool) {
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name })
		if i < 0 {
			w.problem(at.child(name), "%s", w.suggest(at, name, t, fields))
			continue
		}
		w.value(at.child(name), object[name], fields[i], complete || len(at) == 0 && name == "spec")
	}
	for _, f := range fields {
		if value, there := object[f.name]; f.required && (!there || value == nil) && (complete || len(at) == 0 && f.name == "spec") {
			w.problem(at.child(f.name), "missing")
		}
	}
}

// value checks a value against the type of its field.
func (w *walk) value(at place, value any, f jsonField, complete bool) {
	if value == nil {
		if complete && slices.Contains(emptyVariants, f.name) && deref(f.t).Kind() == reflect.Struct {
			w.problem(at, "null chooses nothing: write %s: {}", f.name)
		}
		return
	}
	t := deref(f.t)
	if t == rawObject {
		// The one field of this type is a Job's spec.
		for _, p := range misfits(value, reflect.TypeFor[batchv1.JobSpec]()) {
			w.problems = append(w.problems, Problem{Field: under(at.String(), p.Field), Message: p.Message})
		}
		return
	}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		w.leaf(at, value, t)
	case t.Kind() == reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			w.problem(at, "%s", notObject(f.name, value, t))
			return
		}
		w.structure(at, object, t, complete)
	case t.Kind() == reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			w.problem(at, "this takes a map, such as %s: {key: value}", f.name)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			w.value(at.child(key), object[key], jsonField{name: key, t: t.Elem()}, complete)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		list, ok := value.([]any)
		if !ok {
			w.problem(at, "this takes a list, not %s: write a dash before each item, or brackets around all", shape(value))
			return
		}
		for i, item := range list {
			w.value(at.index(i), item, jsonField{name: f.name, t: t.Elem()}, complete)
		}
	default:
		w.scalar(at, value, t)
	}
}

// leaf checks a value whose type reads itself.
func (w *walk) leaf(at place, value any, t reflect.Type) {
	switch value.(type) {
	case map[string]any, []any:
		// Ours take whatever was stored; that is no reason to write it.
		if t.Kind() == reflect.String {
			w.problem(at, "this takes a text, not %s", shape(value))
			return
		}
	}
	raw, err := stdjson.Marshal(value)
	if err == nil {
		err = stdjson.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		w.problem(at, "this is not understood: %s", err)
	}
}

// scalar checks texts, numbers and truths.
func (w *walk) scalar(at place, value any, t reflect.Type) {
	text, isText := value.(string)
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		switch value.(type) {
		case string:
		case map[string]any, []any:
			w.problem(at, "this takes a text, not %s", shape(value))
		default:
			w.problem(at, "this takes a text, not %s: write it in quotes", shape(value))
		}
	case reflect.Bool:
		if _, ok := value.(bool); ok {
			return
		}
		if b, err := strconv.ParseBool(text); isText && err == nil {
			w.problem(at, "this takes true or false: write %t without quotes", b)
			return
		}
		w.problem(at, "this takes true or false, not %s", shape(value))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := value.(int64)
		if !ok {
			if _, err := strconv.ParseInt(text, 10, 64); isText && err == nil {
				w.problem(at, "this takes a whole number: write it without quotes")
				return
			}
			w.problem(at, "this takes a whole number, not %s", shape(value))
			return
		}
		if reflect.Zero(t).OverflowInt(n) {
			w.problem(at, "this is too large a number")
		}
	default:
	}
}

// notObject says what to write where an object is due. A name alone is the usual mistake.
func notObject(name string, value any, t reflect.Type) string {
	fields := fieldsOf(t)
	text, isText := value.(string)
	switch {
	case isText && slices.ContainsFunc(fields, func(f jsonField) bool { return f.name == "name" && f.t.Kind() == reflect.String }):
		return fmt.Sprintf("write %s: {name: %s}", name, text)
	case isText && slices.ContainsFunc(fields, func(f jsonField) bool { return f.name == "cron" }):
		return fmt.Sprintf("write %s: {cron: %q}", name, text)
	case len(fields) == 0:
		return fmt.Sprintf("write %s: {}", name)
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		return "this takes one object, not a list: remove the dash"
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	if len(names) > 12 {
		return "this takes an object, not " + shape(value)
	}
	return fmt.Sprintf("this takes an object with fields of %s, not %s", strings.Join(names, ", "), shape(value))
}

func shape(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case float64:
		return "a fraction"
	default:
		return "a number"
	}
}
