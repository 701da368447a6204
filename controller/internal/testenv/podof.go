// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PodOf is the pod that a mover's Job asks for.
func (e *Env) PodOf(c Call) corev1.PodSpec {
	e.T.Helper()
	var job batchv1.Job
	require.NoError(e.T, e.Client.Get(e.T.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.Job}, &job))
	return job.Spec.Template.Spec
}

// CacheOf is the claim that has a mover's cache, "" where it goes with the pod.
func (e *Env) CacheOf(c Call) string {
	e.T.Helper()
	for _, v := range e.PodOf(c).Volumes {
		if v.Name == "cache" && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// KeptCaches are the claims of caches that Kopiur keeps for an owner.
func (e *Env) KeptCaches(owner client.Object) []corev1.PersistentVolumeClaim {
	e.T.Helper()
	var list, out corev1.PersistentVolumeClaimList
	require.NoError(e.T, e.Client.List(e.T.Context(), &list, client.InNamespace(owner.GetNamespace())))
	for _, claim := range list.Items {
		for _, ref := range claim.OwnerReferences {
			if ref.UID == owner.GetUID() {
				out.Items = append(out.Items, claim)
			}
		}
	}
	return out.Items
}
