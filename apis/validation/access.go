// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// NamespaceAllowed checks whether an object of a namespace may use a ClusterRepository, to which the field at points. A
// selector is held against the namespace's labels. It gates the work of users alone, never the operator's own.
func NamespaceAllowed(at *field.Path, r *kopiurv1.ClusterRepository, namespace string, labels map[string]string) Findings {
	var f Findings
	if !r.Spec.AllowedNamespaces.Allows(namespace, labels) {
		f.forbidden(at, "ClusterRepository %s does not allow namespace %s: its owner adds the namespace to spec.allowedNamespaces", r.Name, namespace)
	}
	return f
}
