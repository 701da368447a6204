// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package term is all that leaves a mover: the termination message and the event stream on standard output. Both are
// bounded, and nothing that was read from a Secret gets through.
package term

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kopiur/kopiur/apis/work"
)

const (
	redacted = "[redacted]"
	// minSecret keeps a password like "e" from turning every text into noise; it protects nobody anyway.
	minSecret = 4
)

// Redactor replaces secret values. It is safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string
}

// Add remembers values, also in the forms they take inside URLs and JSON strings.
func (r *Redactor) Add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		for _, form := range []string{v, strings.TrimSpace(v), url.QueryEscape(v), url.PathEscape(v), quoted(v)} {
			if len(form) >= minSecret && !slices.Contains(r.values, form) {
				r.values = append(r.values, form)
			}
		}
	}
	// The longest first: one secret may be part of another.
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
}

// Text replaces every remembered value in a text.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, v := range r.values {
		s = strings.ReplaceAll(s, v, redacted)
	}
	return s
}

// Result redacts every text of a Result and leaves the caller's value alone. It looks for texts by itself, so that no
// operation can forget one of its own. Ids and the protocol's own words are no texts.
func (r *Redactor) Result(in work.Result) work.Result {
	out, ok := redactedCopy(r, in)
	if !ok {
		return work.Result{Operation: in.Operation, Code: in.Code, StartTime: in.StartTime, EndTime: in.EndTime, Message: r.Text(in.Message)}
	}
	return out
}

// Page does the same for a page.
func (r *Redactor) Page(in work.Page) work.Page {
	out, ok := redactedCopy(r, in)
	if !ok {
		return work.Page{Number: in.Number, Cursor: in.Cursor}
	}
	return out
}

func redactedCopy[T any](r *Redactor, in T) (out T, ok bool) {
	b, err := json.Marshal(in)
	if err != nil {
		return out, false
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, false
	}
	r.walk(reflect.ValueOf(&out).Elem(), "")
	return out, true
}

func (r *Redactor) walk(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.walk(v.Elem(), name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				r.walk(v.Field(i), f.Name)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.walk(v.Index(i), name)
		}
	case reflect.Map:
		if texts, ok := reflect.TypeAssert[map[string]string](v); ok {
			for k, text := range texts {
				texts[k] = r.Text(text)
			}
		}
	case reflect.String:
		own := name == "APIVersion" || name == "Operation" || strings.HasSuffix(name, "ID")
		if v.Type() == reflect.TypeFor[string]() && !own {
			v.SetString(r.Text(v.String()))
		}
	default: // numbers and flags say nothing, and no result has anything else
	}
}

// quoted is a text inside JSON quotes.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"`)
}
