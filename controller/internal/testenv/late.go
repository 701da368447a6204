// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LatePods gives the controllers that are started from now on a cache in which no pod ever arrives, while that of Jobs is
// up to date. The two come by watches of their own, and either can be behind.
func (e *Env) LatePods() {
	e.WrapClient(func(c client.Client) client.Client { return &podless{c} })
}

type podless struct{ client.Client }

func (p *podless) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = nil
		return nil
	}
	return p.Client.List(ctx, list, opts...)
}
