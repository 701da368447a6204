// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// EndingNamespaces tells which namespaces of Snapshots are being deleted, as far as one may see that.
func EndingNamespaces(ctx context.Context, c client.Client, of []*kopiurv1.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, s := range of {
		if _, asked := out[s.Namespace]; asked {
			continue
		}
		var ns corev1.Namespace
		err := c.Get(ctx, client.ObjectKey{Name: s.Namespace}, &ns)
		out[s.Namespace] = err == nil && ns.DeletionTimestamp != nil
	}
	return out
}
