// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Refusal is why nothing may act on an object; the zero value lets it pass.
type Refusal struct {
	// Reason is a condition's reason: InvalidSpec or NotYetSupported.
	Reason string
	// Message names the field and the fix.
	Message string
}

// Refused reports whether the object must be left alone.
func (r Refusal) Refused() bool { return r.Reason != "" }

// Guard is what stands in front of every reconciler. An object may have been stored before a rule, or without a webhook
// to enforce it; what admission would refuse must not be acted on either.
func Guard(obj runtime.Object) Refusal {
	if errs := Object(obj).Errors; len(errs) > 0 {
		message := errs[0].Error()
		if more := len(errs) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
		return Refusal{Reason: kopiurv1.ReasonInvalidSpec, Message: message}
	}
	if p := Blocking(obj); p != nil {
		return Refusal{Reason: kopiurv1.ReasonNotYetSupported, Message: p.Message()}
	}
	return Refusal{}
}
