// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/server"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=clusterrepositories,verbs=patch

// actionServe is what Kopiur does in events about web UIs.
const actionServe = "Serve"

func (r *Reconciler) server(s subject) server.Of {
	return server.Of{Deps: r.Deps, Owner: s.obj, GVK: r.kind.gvk(), Repo: s.repo}
}

// guard keeps what has a web UI until the objects of that are gone. It reports whether it has changed the repository, which
// the next turn then looks at.
func (r *Reconciler) guard(ctx context.Context, s subject) (bool, error) {
	changed, left, err := r.server(s).Guard(ctx)
	if err != nil {
		return false, fmt.Errorf("guard the web UI: %w", err)
	}
	if left != "" {
		r.Events.Publish(s.obj, loop.Warning(kopiurv1.ReasonServerLeftBehind, actionServe, "%s", left))
	}
	return changed, nil
}

// serve keeps the web UI as spec.server says, and says how it is.
func (r *Reconciler) serve(ctx context.Context, p *loop.Patcher, s subject, status *kopiurv1.RepositoryStatus) error {
	v, err := r.server(s).Ensure(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	status.Server = v.Status
	kind := kopiurv1.ConditionServerAvailable
	switch {
	case v.Reason == "":
	case v.Available:
		p.Conditions.True(kind, v.Reason, "%s", v.Message)
		p.EmitChange(kind, loop.Normal(v.Reason, actionServe, "%s", v.Message))
	default:
		p.Conditions.False(kind, v.Reason, "%s", v.Message)
		if v.Reason != kopiurv1.ReasonServerStarting && v.Reason != kopiurv1.ReasonRepositoryNotReady && v.Reason != kopiurv1.ReasonSuspended {
			p.EmitChange(kind, loop.Warning(v.Reason, actionServe, "%s", v.Message))
		}
	}
	return nil
}

// servedBy wakes the repository that an object of a web UI belongs to. The labels say which one it is; of several that may
// be meant, one that is not finds nothing to do.
func (r *Reconciler) servedBy(_ context.Context, obj client.Object) []ctrl.Request {
	l := obj.GetLabels()
	cluster := l[kopiurv1.LabelClusterRepositoryUID] != ""
	if l[kopiurv1.LabelComponent] != kopiurv1.ComponentServer || cluster != (r.kind.name == mapper.KindClusterRepository) {
		return nil
	}
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: l[kopiurv1.LabelAppInstance]}
	if cluster {
		key.Namespace = ""
	}
	return []ctrl.Request{{NamespacedName: key}}
}
