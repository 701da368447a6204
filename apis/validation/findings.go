// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation says what is wrong with an object before anything acts on it. The webhook, the controller's own
// guard and the command line all call it, so that they cannot disagree. It is pure: what a check needs to know of other
// objects is an argument.
package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Findings are what a check found: errors refuse the object, warnings are shown to whoever applied it.
type Findings struct {
	Errors   field.ErrorList
	Warnings []string
}

// Merge adds what another check found.
func (f *Findings) Merge(o Findings) {
	f.Errors = append(f.Errors, o.Errors...)
	f.Warnings = append(f.Warnings, o.Warnings...)
}

// Err joins the errors to one; nil where there are none.
func (f Findings) Err() error { return f.Errors.ToAggregate() }

// Settled turns what was wrong before an update and still is into warnings. An object that an older rule let in can be
// suspended, or put right one field after the other; what the update itself breaks is refused.
func Settled(now, before Findings) Findings {
	out := Findings{Warnings: now.Warnings}
	for _, e := range now.Errors {
		if slices.ContainsFunc(before.Errors, func(b *field.Error) bool { return b.Field == e.Field && b.Error() == e.Error() }) {
			out.Warnings = append(out.Warnings, e.Error()+" (so before this change)")
			continue
		}
		out.Errors = append(out.Errors, e)
	}
	return out
}

func (f *Findings) invalid(at *field.Path, value any, format string, args ...any) {
	f.Errors = append(f.Errors, field.Invalid(at, value, fmt.Sprintf(format, args...)))
}

// forbidden is for a field that must not be there, and for values that must not be repeated, such as a password in an URL.
func (f *Findings) forbidden(at *field.Path, format string, args ...any) {
	f.Errors = append(f.Errors, field.Forbidden(at, fmt.Sprintf(format, args...)))
}

func (f *Findings) required(at *field.Path, format string, args ...any) {
	f.Errors = append(f.Errors, field.Required(at, fmt.Sprintf(format, args...)))
}

func (f *Findings) warn(at *field.Path, format string, args ...any) {
	f.Warnings = append(f.Warnings, at.String()+": "+fmt.Sprintf(format, args...))
}
