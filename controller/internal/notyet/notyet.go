// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notyet reconciles the kinds that this version accepts and does not carry out. It says so on every object:
// one that is silent looks like one that works.
package notyet

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositoryreplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositoryreplications/status,verbs=patch

// action is what Kopiur does in every event of this package.
const action = "Reconcile"

// kind is one that is not carried out.
type kind struct {
	fresh func() client.Object
	// view is where an object has what this package reads and writes.
	view func(client.Object) view
}

type view struct {
	conditions *[]metav1.Condition
	generation *int64
	suspended  bool
}

// of makes a kind from its typed parts.
func of[T client.Object](fresh func() T, look func(T) view) kind {
	return kind{
		fresh: func() client.Object { return fresh() },
		view:  func(o client.Object) view { return look(o.(T)) }, //nolint:forcetypeassert // only its own objects come here
	}
}

func kinds() []kind {
	return []kind{
		of(func() *kopiurv1.RepositoryReplication { return &kopiurv1.RepositoryReplication{} }, func(o *kopiurv1.RepositoryReplication) view {
			return view{&o.Status.Conditions, &o.Status.ObservedGeneration, o.Spec.Suspend}
		}),
	}
}

// reconciler of one kind.
type reconciler struct {
	deps.Deps
	kind kind
}

// Setup adds a reconciler for each of the kinds to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	for _, k := range kinds() {
		obj := k.fresh()
		name := loop.KindOf(obj)
		err := ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(name)).WithOptions(d.ControllerOptions()).
			For(obj, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
			Complete(&reconciler{Deps: d, kind: k})
		if err != nil {
			return fmt.Errorf("set up the controller of %s: %w", name, err)
		}
	}
	return nil
}

// Reconcile says of one object that nothing is done for it.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (res ctrl.Result, err error) {
	obj := r.kind.fresh()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if !obj.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	v := r.kind.view(obj)
	p := loop.NewPatcher(r.Env, obj, v.conditions, v.generation)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write
	if v.suspended {
		p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "spec.suspend is true")
	}
	refusal := validation.Guard(obj)
	p.Stalled(refusal.Reason, "%s", refusal.Message)
	p.EmitChange(kopiurv1.ConditionStalled, loop.Warning(refusal.Reason, action, "%s", refusal.Message))
	return ctrl.Result{}, loop.Stall{Reason: refusal.Reason, Message: refusal.Message}
}
