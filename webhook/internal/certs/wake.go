// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The webhook's own Secret and its two configurations, each by name and nothing else. A list or watch is allowed by a
// rule with a name where it asks for that name; only a create cannot be narrowed so.
//
// +kubebuilder:rbac:groups="",namespace=kopiur-system,resources=secrets,resourceNames=kopiur-webhook-tls,verbs=get;list;watch;update
// +kubebuilder:rbac:groups="",namespace=kopiur-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,resourceNames=kopiur-webhook,verbs=get;list;watch;patch

// Watches wakes a Keeper when the Secret or a configuration changes, whoever changed it. It is a cache of metadata of at
// most three objects; the Keeper itself reads from the API server.
func Watches(ctx context.Context, cfg *rest.Config, k *Keeper) (cache.Cache, error) {
	watched := map[client.Object]cache.ByObject{}
	add := func(gvk schema.GroupVersionKind, name string, namespaces map[string]cache.Config) {
		if name == "" {
			return
		}
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		watched[o] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name), Namespaces: namespaces}
	}
	add(corev1.SchemeGroupVersion.WithKind("Secret"), k.config.Secret, map[string]cache.Config{k.config.Namespace: {}})
	add(admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), k.config.Validating, nil)
	add(admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"), k.config.Mutating, nil)
	c, err := cache.New(cfg, cache.Options{ByObject: watched, ReaderFailOnMissingInformer: true})
	if err != nil {
		return nil, fmt.Errorf("watch the certificate: %w", err)
	}
	wake := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.Wake() },
		UpdateFunc: func(any, any) { k.Wake() },
		DeleteFunc: func(any) { k.Wake() },
	}
	for o := range watched {
		informer, err := c.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", o.GetObjectKind().GroupVersionKind().Kind, err)
		}
		if _, err := informer.AddEventHandler(wake); err != nil {
			return nil, fmt.Errorf("watch %s: %w", o.GetObjectKind().GroupVersionKind().Kind, err)
		}
	}
	return c, nil
}
