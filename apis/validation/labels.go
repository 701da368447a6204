// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Labels are those that a new object has to have. A Snapshot of a policy is found by the policy's name; whoever wrote it
// by hand does not know that.
func Labels(o runtime.Object) map[string]string {
	s, ok := o.(*kopiurv1.Snapshot)
	if !ok || s.Spec.PolicyRef == nil || s.Spec.PolicyRef.Name == "" {
		return nil
	}
	name := kopiurv1.LabelValue(s.Spec.PolicyRef.Name)
	return map[string]string{kopiurv1.LabelConfig: name, kopiurv1.LabelPolicy: name}
}
