// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// selector checks that a label selector can be read. An empty one selects everything, which is for the caller to judge.
func selector(at *field.Path, s metav1.LabelSelector) Findings {
	var f Findings
	if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
		f.invalid(at, metav1.FormatLabelSelector(&s), "%s", err.Error())
	}
	return f
}

// podSelector checks a selector that has to pick one pod: an empty one would pick any.
func podSelector(at *field.Path, s metav1.LabelSelector) Findings {
	f := selector(at, s)
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		f.required(at, "write matchLabels or matchExpressions: an empty selector would pick any pod of the namespace")
	}
	return f
}
