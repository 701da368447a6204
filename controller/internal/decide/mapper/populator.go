// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper

import (
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// ClaimDataSource is the Restore that a claim names as its data source. One of another namespace is not filled: whoever
// may make claims there must not read what lies here.
func ClaimDataSource(c *corev1.PersistentVolumeClaim) []string {
	ref := c.Spec.DataSourceRef
	if ref == nil || ref.APIGroup == nil || *ref.APIGroup != kopiurv1.GroupName || ref.Kind != string(KindRestore) ||
		ref.Namespace != nil && *ref.Namespace != c.Namespace {
		return nil
	}
	return []string{Named(c.Namespace, ref.Name)}
}

// OfClaim is the name of the Restore that fills a claim, or that made it to fill another one; "" where there is none.
func OfClaim(c *corev1.PersistentVolumeClaim) string {
	if len(ClaimDataSource(c)) > 0 {
		return c.Spec.DataSourceRef.Name
	}
	if c.Labels[kopiurv1.LabelOperation] == kopiurv1.OperationRestorePopulate && c.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue {
		return c.Annotations[kopiurv1.AnnotationRestore]
	}
	return ""
}
