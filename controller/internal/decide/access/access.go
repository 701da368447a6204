// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access decides whether a namespace may use a ClusterRepository.
package access

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Allows reports whether the namespace with these labels may use a repository. It is total: nothing set, an empty
// selector, a selector that cannot be read and labels that could not be fetched all deny. nil is a namespaced Repository,
// which has no such gate.
func Allows(a *kopiurv1.AllowedNamespaces, namespace string, nsLabels map[string]string) bool {
	switch {
	case a == nil:
		return true
	case a.All != nil:
		return *a.All
	case a.List != nil:
		return slices.Contains(a.List, namespace)
	case a.Selector != nil:
		s, err := metav1.LabelSelectorAsSelector(a.Selector)
		return err == nil && !s.Empty() && s.Matches(labels.Set(nsLabels))
	default:
		return false
	}
}
