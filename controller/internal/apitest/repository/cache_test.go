// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestALookHasAWarmCache (acceptance C-3): what one look has fetched, the next one need not: with a cold cache a connect
// takes as long as the index is large.
func TestALookHasAWarmCache(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		r.spec.MoverDefaults = &kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, StorageClassName: "fast"}}
		env.Create(r.Object)
		env.StartController()
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		r.looked(t, env, 1)
		var claims corev1.PersistentVolumeClaimList
		require.NoError(t, env.Client.List(t.Context(), &claims, client.InNamespace(r.home), client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}))
		require.Len(t, claims.Items, 1)
		claim := claims.Items[0]
		assert.Regexp(t, "^kopiur-cache-"+r.GetName()+"-[0-9a-f]{8}$", claim.Name)
		assert.Equal(t, "5Gi", claim.Spec.Resources.Requests.Storage().String())
		require.NotNil(t, metav1.GetControllerOf(&claim))
		assert.Equal(t, r.GetUID(), metav1.GetControllerOf(&claim).UID, "it goes with the repository")
		assert.Equal(t, claim.Name, cacheOfTheLook(t, env, r))

		// One that begins before the controller has seen the end of the Job before it does without.
		var at string
		for n := int32(2); n < 20 && at == ""; n++ {
			r.touch(env, "keys")
			r.looked(t, env, n)
			at = cacheOfTheLook(t, env, r)
		}
		assert.Equal(t, claim.Name, at, "a later look has the cache of the first")
		require.NoError(t, env.Client.List(t.Context(), &claims, client.InNamespace(r.home), client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}))
		assert.Len(t, claims.Items, 1)
	})
}

// cacheOfTheLook is the claim that the last look has its cache in.
func cacheOfTheLook(t *testing.T, env *testenv.Env, r *repository) string {
	t.Helper()
	var job batchv1.Job
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKey{Namespace: r.home, Name: r.status.Job.Name}, &job))
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == "cache" && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}
