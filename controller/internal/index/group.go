// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// RunOfGroup wakes the Snapshots that wait for a VolumeGroupSnapshot.
func RunOfGroup(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return ask(ctx, c, mapper.OfGroup(obj.GetNamespace(), obj.GetName()))
	}
}

// RunOfMaker wakes those that wait for the group that a Snapshot makes: they tell what it waits for, and end with it.
func RunOfMaker(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		s, ok := obj.(*kopiurv1.Snapshot)
		if !ok || group.Claims(s) == nil {
			return nil
		}
		return ask(ctx, c, mapper.OfGroup(s.Namespace, group.Of(s)))
	}
}
