// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// CacheOptions bound what the process keeps in memory: of Jobs and Pods those that are ours, of Secrets and the like
// only names, and of everything no managed fields. A read of anything else through the cache fails, because a stray Get
// would quietly start to watch all objects of that kind in the cluster.
func CacheOptions() cache.Options {
	ours := labels.SelectorFromSet(labels.Set{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue})
	by := map[client.Object]cache.ByObject{
		&batchv1.Job{}:                  {Label: ours},
		&corev1.Pod{}:                   {Label: ours},
		&corev1.PersistentVolumeClaim{}: {Transform: trimClaim},
	}
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		by[Metadata(kind)] = cache.ByObject{Transform: bare}
	}
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject:                    by,
	}
}

// Informed are the kinds that reconcilers read besides those they watch or index.
func Informed() []client.Object {
	out := []client.Object{&batchv1.Job{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}}
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		out = append(out, Metadata(kind))
	}
	return out
}

// Serving adds what web UIs are made of: those of ours.
func Serving(o *cache.Options) {
	ours := labels.SelectorFromSet(labels.Set{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentServer})
	o.ByObject[&appsv1.Deployment{}] = cache.ByObject{Label: ours}
	o.ByObject[&corev1.Service{}] = cache.ByObject{Label: ours}
}

// bare drops what no mapper looks at. Annotations among it: consent is read live, never from a cache.
func bare(in any) (any, error) {
	if obj, err := meta.Accessor(in); err == nil {
		obj.SetManagedFields(nil)
		obj.SetAnnotations(nil)
	}
	return in, nil
}

// lastApplied is kubectl's own copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func trimClaim(in any) (any, error) {
	obj, err := meta.Accessor(in)
	if err != nil {
		return in, nil //nolint:nilerr // not an object: a tombstone, which is left alone
	}
	obj.SetManagedFields(nil)
	if a := obj.GetAnnotations(); a[lastApplied] != "" {
		a = maps.Clone(a)
		delete(a, lastApplied)
		obj.SetAnnotations(a)
	}
	return in, nil
}
