// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leftover takes away what an earlier operator of the same API left behind: a ConfigMap for each run, owned by
// nobody (acceptance E-2). Kopiur itself makes none but those that sessions are asked for by, which name a component.
package leftover

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

const (
	// minAge of what is swept: longer than any run of the earlier operator.
	minAge = 72 * time.Hour
	// again is when a sweep that failed is repeated.
	again = 10 * time.Minute
	// page of a list.
	page = 500
)

// Sweeper deletes them once per start.
type Sweeper struct {
	// Client deletes and knows from its cache who names a ConfigMap, Live lists them.
	Client client.Client
	Live   client.Reader
	Clock  clock.WithTicker
	// Namespaces limits it; all where it is empty.
	Namespaces []string
}

// Start sweeps once. It is a manager's runnable.
func (s *Sweeper) Start(ctx context.Context) error {
	for {
		n, err := s.Sweep(ctx)
		if err == nil {
			if n > 0 {
				logf.FromContext(ctx).Info("Deleted ConfigMaps that an earlier operator left", "count", n)
			}
			return nil
		}
		logf.FromContext(ctx).Error(err, "Sweeping again later")
		select {
		case <-ctx.Done():
			return nil
		case <-s.Clock.After(again):
		}
	}
}

// NeedLeaderElection keeps standbys from sweeping.
func (s *Sweeper) NeedLeaderElection() bool { return true }

// Sweep deletes what nobody owns, names or mounts, and says how many.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	named, err := s.named(ctx)
	if err != nil {
		return 0, err
	}
	mounted := map[string]map[string]bool{}
	deleted := 0
	for _, ns := range namespaces {
		for next := ""; ; {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
			if err := s.Live.List(ctx, list, client.InNamespace(ns), client.Limit(page), client.Continue(next),
				client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}); err != nil {
				return deleted, fmt.Errorf("list ConfigMaps: %w", err)
			}
			for i := range list.Items {
				m := &list.Items[i]
				if named[client.ObjectKey{Name: m.Name}] || named[client.ObjectKeyFromObject(m)] {
					continue
				}
				gone, err := s.remove(ctx, m, mounted)
				if err != nil {
					return deleted, err
				}
				if gone {
					deleted++
				}
			}
			if next = list.Continue; next == "" {
				break
			}
		}
	}
	return deleted, nil
}

// Abandoned reports whether a ConfigMap is old, and nobody's. What has an owner is the garbage collector's business.
func Abandoned(m *metav1.PartialObjectMetadata, now time.Time) bool {
	return m.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && m.Labels[kopiurv1.LabelComponent] == "" &&
		len(m.OwnerReferences) == 0 && len(m.Finalizers) == 0 && m.DeletionTimestamp == nil && now.Sub(m.CreationTimestamp.Time) >= minAge
}

func (s *Sweeper) remove(ctx context.Context, m *metav1.PartialObjectMetadata, mounted map[string]map[string]bool) (bool, error) {
	if !Abandoned(m, s.Clock.Now()) {
		return false, nil
	}
	used, known := mounted[m.Namespace]
	if !known {
		var err error
		if used, err = s.mounted(ctx, m.Namespace); err != nil {
			return false, err
		}
		mounted[m.Namespace] = used
	}
	if used[m.Name] {
		return false, nil
	}
	// By its version: one that was edited meanwhile is somebody's.
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
	err := s.Client.Delete(ctx, obj, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion})
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Leaving a ConfigMap to the next start", "configMap", m.Namespace+"/"+m.Name, "reason", err.Error())
	}
	return err == nil, nil
}

// named are the ConfigMaps that repositories name: a CA bundle is somebody's, whatever its labels say.
func (s *Sweeper) named(ctx context.Context) (map[client.ObjectKey]bool, error) {
	out := map[client.ObjectKey]bool{}
	var repositories kopiurv1.RepositoryList
	if err := s.Client.List(ctx, &repositories, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	for i := range repositories.Items {
		r := &repositories.Items[i]
		if ca := r.Spec.Backend.CAConfigMap(); ca != nil {
			out[client.ObjectKey{Namespace: r.Namespace, Name: ca.ConfigMapName}] = true
		}
	}
	var shared kopiurv1.ClusterRepositoryList
	if err := s.Client.List(ctx, &shared, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ClusterRepositories: %w", err)
	}
	for i := range shared.Items {
		if ca := shared.Items[i].Spec.Backend.CAConfigMap(); ca != nil {
			out[client.ObjectKey{Name: ca.ConfigMapName}] = true // by hand in any namespace that uses it
		}
	}
	return out, nil
}

// mounted are the ConfigMaps that pods of a namespace use.
func (s *Sweeper) mounted(ctx context.Context, namespace string) (map[string]bool, error) {
	var pods corev1.PodList
	if err := s.Live.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	out := map[string]bool{}
	for i := range pods.Items {
		spec := &pods.Items[i].Spec
		for _, v := range spec.Volumes {
			if v.ConfigMap != nil {
				out[v.ConfigMap.Name] = true
			}
			if v.Projected == nil {
				continue
			}
			for _, p := range v.Projected.Sources {
				if p.ConfigMap != nil {
					out[p.ConfigMap.Name] = true
				}
			}
		}
		for _, c := range append(append([]corev1.Container(nil), spec.InitContainers...), spec.Containers...) {
			for _, e := range c.EnvFrom {
				if e.ConfigMapRef != nil {
					out[e.ConfigMapRef.Name] = true
				}
			}
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
					out[e.ValueFrom.ConfigMapKeyRef.Name] = true
				}
			}
		}
	}
	return out, nil
}
