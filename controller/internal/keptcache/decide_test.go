// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package keptcache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func nas() moverjob.Repository {
	r := &kopiurv1.Repository{}
	r.Namespace, r.Name, r.UID = "apps", "nas", "repo-uid"
	return moverjob.FromRepository(r)
}

func web(repositories ...string) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{}
	p.Namespace, p.Name, p.UID = "apps", "web", "policy-uid"
	for _, name := range repositories {
		p.Spec.Repositories = append(p.Spec.Repositories, kopiurv1.RepositoryRef{Name: name})
	}
	if len(repositories) == 0 {
		p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	}
	return p
}

func sized(size, class string) moverjob.KeptCache {
	return moverjob.KeptCache{Size: resource.MustParse(size), StorageClass: class}
}

// made is the claim as it is after it was made for a wish.
func made(w keptcache.Wish, edit ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := keptcache.Decide(w, nil, "").Create.DeepCopy()
	c.UID = "claim-uid"
	for _, f := range edit {
		f(c)
	}
	return c
}

// TestWhichClaimAMoverGets (acceptance C-3): a warm cache is had where it can be, and nothing waits where it cannot.
func TestWhichClaimAMoverGets(t *testing.T) {
	t.Parallel()
	wish := keptcache.OfPolicy(web(), nas(), sized("8Gi", "fast"))
	foreign := func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].UID = "somebody" }
	larger := keptcache.OfPolicy(web(), nas(), sized("16Gi", "fast"))
	other := keptcache.OfPolicy(web(), nas(), sized("8Gi", "slow"))
	elsewhere := nas()
	elsewhere.UID = "another-uid"
	moved := keptcache.OfPolicy(web(), elsewhere, sized("8Gi", "fast"))
	for name, tc := range map[string]struct {
		wish       keptcache.Wish
		have       *corev1.PersistentVolumeClaim
		busy       string
		want       string
		wantCreate bool
		wantDelete bool
		wantReason string
	}{
		"there is none: it is made and used":                   {wish: wish, want: "kopiur-cache-web", wantCreate: true},
		"there is none, and another mover is about to make it": {wish: wish, busy: "s-other"},
		"it is there and free":                                 {wish: wish, have: made(wish), want: "kopiur-cache-web"},
		"another mover uses it":                                {wish: wish, have: made(wish), busy: "s-other"},
		"it goes away":                                         {wish: wish, have: made(wish, func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} })},
		"more room is asked for: it is replaced by and by":     {wish: larger, have: made(wish), wantDelete: true},
		"another class is asked for":                           {wish: other, have: made(wish), wantDelete: true},
		"it holds another repository's blobs":                  {wish: moved, have: made(wish), wantDelete: true},
		"it is to be replaced, and another mover uses it":      {wish: larger, have: made(wish), busy: "s-other"},
		"somebody grew it: that is theirs to do": {wish: wish, have: made(wish, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
		}), want: "kopiur-cache-web"},
		"somebody else's claim is not touched":                        {wish: wish, have: made(wish, foreign), wantReason: kopiurv1.ReasonCacheClaimTaken},
		"not even if it is as we would have it of another size":       {wish: larger, have: made(wish, foreign), wantReason: kopiurv1.ReasonCacheClaimTaken},
		"nor one without a label of ours":                             {wish: larger, have: made(wish, func(c *corev1.PersistentVolumeClaim) { c.Labels = nil }), wantReason: kopiurv1.ReasonCacheClaimTaken},
		"nor that of a policy which had the same name and is no more": {wish: wish, have: made(wish, func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].UID = "policy-before" }), wantReason: kopiurv1.ReasonCacheClaimTaken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := keptcache.Decide(tc.wish, tc.have, tc.busy)
			assert.Equal(t, tc.want, v.Claim)
			assert.Equal(t, tc.wantCreate, v.Create != nil)
			assert.Equal(t, tc.wantDelete, v.Delete != nil)
			assert.Equal(t, tc.wantReason, v.Reason)
			assert.Equal(t, tc.wantReason != "", v.Message != "", "what somebody has to do is said")
			if v.Delete != nil {
				assert.Empty(t, v.Claim, "what is removed is not used")
			}
		})
	}
}

func TestTheClaim(t *testing.T) {
	t.Parallel()
	c := made(keptcache.OfPolicy(web(), nas(), sized("8Gi", "fast")))
	assert.Equal(t, "kopiur-cache-web", c.Name)
	assert.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, c.Spec.AccessModes)
	assert.Equal(t, "fast", *c.Spec.StorageClassName)
	assert.Equal(t, "8Gi", c.Spec.Resources.Requests.Storage().String())
	ref := metav1.GetControllerOf(c)
	require.NotNil(t, ref, "it goes with its owner")
	assert.Equal(t, "SnapshotPolicy/web", ref.Kind+"/"+ref.Name)
	assert.Nil(t, ref.BlockOwnerDeletion)
	assert.Nil(t, made(keptcache.OfPolicy(web(), nas(), sized("8Gi", ""))).Spec.StorageClassName, "the cluster's default class")
	assert.Equal(t, kopiurv1.ManagedByValue, c.Labels[kopiurv1.LabelManagedBy], "no selector takes it for data")
}

func TestTheNames(t *testing.T) {
	t.Parallel()
	one := keptcache.OfPolicy(web(), nas(), sized("8Gi", "")).Name
	several := keptcache.OfPolicy(web("nas", "cloud"), nas(), sized("8Gi", "")).Name
	looks := keptcache.OfRepository(&kopiurv1.Repository{}, kopiurv1.GroupVersion.WithKind("Repository"), nas(), sized("8Gi", "")).Name
	assert.Equal(t, "kopiur-cache-web", one)
	assert.Regexp(t, `^kopiur-cache-web-nas-[0-9a-f]{8}$`, several)
	assert.Regexp(t, `^kopiur-cache-nas-[0-9a-f]{8}$`, looks)

	long, repo := web("a", "b"), nas()
	long.Name, repo.Ref.Name = strings.Repeat("p", 63), strings.Repeat("r", 63)
	assert.LessOrEqual(t, len(keptcache.OfPolicy(long, repo, sized("8Gi", "")).Name), 253)
	cluster := nas()
	cluster.Ref.Kind, cluster.Ref.Namespace = kopiurv1.KindClusterRepository, ""
	assert.NotEqual(t, several, keptcache.OfPolicy(web("nas", "cloud"), cluster, sized("8Gi", "")).Name, "a ClusterRepository of the same name has one of its own")
}
