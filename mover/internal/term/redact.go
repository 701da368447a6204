// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package term is all that leaves a mover: the termination message and the event stream on standard output. Both are
// bounded, and nothing that was read from a Secret gets through.
package term

import (
	"encoding/json"
	"net/url"
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

// Result redacts the texts of a Result and leaves the caller's value alone.
func (r *Redactor) Result(in work.Result) work.Result {
	in.Message = r.Text(in.Message)
	if s := in.Snapshot; s != nil && s.Unstored != nil {
		u, c := *s.Unstored, *s
		u.Paths = r.faults(u.Paths)
		c.Unstored = &u
		in.Snapshot = &c
	}
	if s := in.Restore; s != nil {
		c := *s
		c.Ownership.Paths = r.faults(c.Ownership.Paths)
		in.Restore = &c
	}
	return in
}

func (r *Redactor) faults(in []work.EntryFault) []work.EntryFault {
	out := slices.Clone(in)
	for i := range out {
		out[i].Path, out[i].Reason = r.Text(out[i].Path), r.Text(out[i].Reason)
	}
	return out
}

// quoted is a text inside JSON quotes.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"`)
}
