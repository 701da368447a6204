// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Allows reports whether the namespace with these labels may use a repository. It is total: nothing set, an empty
// selector, a selector that cannot be read and labels that could not be fetched all deny. nil is a namespaced Repository,
// which has no such gate.
func (a *AllowedNamespaces) Allows(namespace string, nsLabels map[string]string) bool {
	switch {
	case a == nil:
		return true
	case a.All != nil:
		return *a.All
	case a.List != nil:
		return slices.Contains(a.List, namespace)
	case a.Selector != nil:
		// Every namespace has the label of its own name: without any, nothing is known, and a selector of absence would match.
		if len(nsLabels) == 0 {
			return false
		}
		s, err := metav1.LabelSelectorAsSelector(a.Selector)
		return err == nil && !s.Empty() && s.Matches(labels.Set(nsLabels))
	default:
		return false
	}
}
