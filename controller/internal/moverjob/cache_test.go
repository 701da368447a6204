// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// TestCacheVolume (acceptance G-1, G-3): which volume the cache is, and what kopia is told of its size.
func TestCacheVolume(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	spec := func(c kopiurv1.CacheSpec) *kopiurv1.CacheSpec { return &c }
	for name, tc := range map[string]struct {
		defaults, recipe *kopiurv1.CacheSpec
		claim            string
		// want is emptyDir, ephemeral or a claim's name, with the size that Kubernetes is asked for.
		want, size, class string
		capacity          int64
		// kept is the size of the claim that is to be kept, "" where none is.
		kept string
	}{
		"nothing is asked for":                          {want: "emptyDir"},
		"a size is a limit":                             {recipe: spec(kopiurv1.CacheSpec{Capacity: "2Gi"}), want: "emptyDir", size: "2Gi", capacity: 2 * gib},
		"a size of nothing is none":                     {recipe: spec(kopiurv1.CacheSpec{Capacity: "0"}), want: "emptyDir"},
		"a class is a claim of the pod's own":           {recipe: spec(kopiurv1.CacheSpec{Capacity: "2Gi", StorageClassName: "fast"}), want: "ephemeral", size: "2Gi", class: "fast", capacity: 2 * gib},
		"which has a size also where none is named":     {recipe: spec(kopiurv1.CacheSpec{StorageClassName: "fast"}), want: "ephemeral", size: "5Gi", class: "fast", capacity: 5 * gib},
		"a kept one is a claim":                         {recipe: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi"}), claim: "kopiur-cache-web", want: "kopiur-cache-web", capacity: 8 * gib, kept: "8Gi"},
		"which has a size as well":                      {recipe: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent}), claim: "kopiur-cache-web", want: "kopiur-cache-web", capacity: 5 * gib, kept: "5Gi"},
		"who has none of it has a folder of that size":  {recipe: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi", StorageClassName: "fast"}), want: "emptyDir", size: "8Gi", capacity: 8 * gib, kept: "8Gi"},
		"a policy sizes what the repository keeps":      {defaults: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi"}), recipe: spec(kopiurv1.CacheSpec{Capacity: "1Gi"}), want: "emptyDir", size: "1Gi", capacity: gib, kept: "1Gi"},
		"a policy may do without what a repository has": {defaults: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent}), recipe: spec(kopiurv1.CacheSpec{Mode: kopiurv1.CacheEphemeral}), want: "emptyDir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := snapshotRequest(onS3(), &kopiurv1.MoverSpec{Cache: tc.recipe})
			req.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Cache: tc.defaults}
			req.CacheClaim = tc.claim
			job, err := moverjob.Build(req)
			require.NoError(t, err)
			pod := job.Spec.Template.Spec
			switch v := cacheVolume(t, pod); {
			case v.EmptyDir != nil:
				assert.Equal(t, "emptyDir", tc.want)
				if tc.size == "" {
					assert.Nil(t, v.EmptyDir.SizeLimit)
				} else {
					require.NotNil(t, v.EmptyDir.SizeLimit)
					assert.Equal(t, tc.size, v.EmptyDir.SizeLimit.String())
				}
			case v.Ephemeral != nil:
				assert.Equal(t, "ephemeral", tc.want)
				claim := v.Ephemeral.VolumeClaimTemplate.Spec
				assert.Equal(t, tc.size, claim.Resources.Requests.Storage().String())
				assert.Equal(t, tc.class, *claim.StorageClassName)
			default:
				assert.Equal(t, tc.want, v.PersistentVolumeClaim.ClaimName)
				assert.False(t, v.PersistentVolumeClaim.ReadOnly)
			}
			told, err := work.DecodeSpec(pod.Containers[0].Env[0].Value)
			require.NoError(t, err)
			assert.Equal(t, tc.capacity, told.Repository.Cache.CapacityBytes)
			kept := moverjob.KeepsCache(req.Repository, req.Layers...)
			if tc.kept == "" {
				assert.Nil(t, kept)
				return
			}
			require.NotNil(t, kept)
			assert.Equal(t, tc.kept, kept.Size.String())
		})
	}
}

func cacheVolume(t *testing.T, pod corev1.PodSpec) corev1.VolumeSource {
	t.Helper()
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.MountPath != work.CacheDir {
			continue
		}
		for _, v := range pod.Volumes {
			if v.Name == m.Name {
				return v.VolumeSource
			}
		}
	}
	require.Fail(t, "no volume is mounted for the cache")
	return corev1.VolumeSource{}
}
