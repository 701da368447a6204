// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation says what is wrong with an object before anything acts on it. The webhook, the controller's own
// guard and the command line all call it, so that they cannot disagree. It is pure: what a check needs to know of other
// objects is an argument.
package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

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
