// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kopiur/kopiur/apis/validation"
)

// Rules are what an object is held against.
type Rules struct {
	// Object looks at one object alone.
	Object func(o runtime.Object) validation.Findings
	// Update looks at what a change does.
	Update func(o, old runtime.Object) validation.Findings
	// Pending lists what is asked for and not carried out yet, which is no fault of the user's.
	Pending func(o runtime.Object) []validation.Pending
	// Labels are those that a new object has to have.
	Labels func(o runtime.Object) map[string]string
}

// Standard are the rules of apis/validation.
func Standard() Rules {
	return Rules{Object: validation.Object, Update: validation.Update, Pending: validation.NotYetSupported, Labels: validation.Labels}
}
