// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// defaultCacheSize of a cache that is a claim: a claim has to have a size.
const defaultCacheSize = "5Gi"

// KeptCache is what the claim of a cache is made with that outlives its mover.
type KeptCache struct {
	Size resource.Quantity
	// StorageClass, where it is empty, is the cluster's default.
	StorageClass string
}

// KeepsCache is what the layers say about a cache that is kept, nil where they want none. A size that cannot be read wants
// none: Build says what is wrong with it.
func KeepsCache(repo Repository, layers ...*kopiurv1.MoverSpec) *KeptCache {
	c := mergedCache(repo, layers)
	size, err := c.size()
	if err != nil || c.Mode != kopiurv1.CachePersistent {
		return nil
	}
	return &KeptCache{Size: size, StorageClass: c.StorageClassName}
}

// cacheLayers is a CacheSpec merged field by field; from names the layer that the capacity came from.
type cacheLayers struct {
	kopiurv1.CacheSpec

	from string
}

func mergedCache(repo Repository, layers []*kopiurv1.MoverSpec) cacheLayers {
	var out cacheLayers
	lay := func(field string, c *kopiurv1.CacheSpec) {
		if c == nil {
			return
		}
		if c.Capacity != "" {
			out.Capacity, out.from = c.Capacity, field
		}
		out.Mode = cmp.Or(c.Mode, out.Mode)
		out.StorageClassName = cmp.Or(c.StorageClassName, out.StorageClassName)
		out.ContentCacheSizeMB = cmp.Or(max(c.ContentCacheSizeMB, 0), out.ContentCacheSizeMB)
		out.MetadataCacheSizeMB = cmp.Or(max(c.MetadataCacheSizeMB, 0), out.MetadataCacheSizeMB)
	}
	if d := repo.Spec.MoverDefaults; d != nil {
		lay("moverDefaults", d.Cache)
	}
	for _, m := range layers {
		if m != nil {
			lay("mover", m.Cache)
		}
	}
	return out
}

// size of a claim.
func (c cacheLayers) size() (resource.Quantity, error) {
	if c.unsized() {
		return resource.MustParse(defaultCacheSize), nil
	}
	q, err := c.Capacity.Parse()
	if err != nil {
		return q, fmt.Errorf("%s.cache.capacity: %w", c.from, err)
	}
	return q, nil
}

// unsized reports whether no capacity is asked for, which 0 does not either.
func (c cacheLayers) unsized() bool {
	q, err := c.Capacity.Parse()
	return c.Capacity == "" || err == nil && q.Sign() <= 0
}

// cacheOf is the volume of the cache, and what of it kopia may use. Whoever keeps no claim for it has a cache that goes with
// the pod: a claim of the pod's own where a class is named, else a folder of the node.
func cacheOf(r Request) (corev1.VolumeSource, work.Cache, error) {
	c := mergedCache(r.Repository, r.Layers)
	limits := work.Cache{ContentLimitBytes: c.ContentCacheSizeMB << 20, MetadataLimitBytes: c.MetadataCacheSizeMB << 20}
	size, err := c.size()
	if err != nil {
		return corev1.VolumeSource{}, limits, err
	}
	switch {
	case r.CacheClaim != "":
		limits.CapacityBytes = size.Value()
		return claim(r.CacheClaim, false), limits, nil
	case c.StorageClassName != "" && c.Mode != kopiurv1.CachePersistent:
		limits.CapacityBytes = size.Value()
		return ephemeral(r, size, c.StorageClassName), limits, nil
	case c.unsized():
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, limits, nil
	default:
		limits.CapacityBytes = size.Value()
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(size.Value(), resource.BinarySI)}}, limits, nil
	}
}
