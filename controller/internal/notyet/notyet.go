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
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotschedules;maintenances;repositoryreplications;snapshotreplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotschedules/status;maintenances/status;repositoryreplications/status;snapshotreplications/status,verbs=patch

// action is what Kopiur does in every event of this package.
const action = "Reconcile"

// kind is one that is not carried out.
type kind struct {
	fresh func() client.Object
	// view is where an object has what this package reads and writes.
	view func(client.Object) view
	// message says what is not done, and what to do in its place.
	message string
}

type view struct {
	conditions *[]metav1.Condition
	generation *int64
	suspended  bool
}

// of makes a kind from its typed parts.
func of[T client.Object](fresh func() T, look func(T) view, message string) kind {
	return kind{
		fresh:   func() client.Object { return fresh() },
		view:    func(o client.Object) view { return look(o.(T)) }, //nolint:forcetypeassert // only its own objects come here
		message: message,
	}
}

func kinds() []kind {
	return []kind{
		of(func() *kopiurv1.SnapshotSchedule { return &kopiurv1.SnapshotSchedule{} },
			func(o *kopiurv1.SnapshotSchedule) view {
				return view{conditions: &o.Status.Conditions, generation: &o.Status.ObservedGeneration, suspended: o.Spec.Schedule.Suspend}
			},
			"this version of Kopiur does not start snapshots by a schedule: no backup is made; until it does, create a Snapshot that names "+
				"the policy for each backup, for example from a CronJob"),
		of(func() *kopiurv1.Maintenance { return &kopiurv1.Maintenance{} },
			func(o *kopiurv1.Maintenance) view {
				return view{conditions: &o.Status.Conditions, generation: &o.Status.ObservedGeneration}
			},
			"this version of Kopiur does not maintain repositories: no run is started, the index grows and nothing is given back to the "+
				"store; until it does, run kopia maintenance run --full against the repository from one machine"),
		of(func() *kopiurv1.RepositoryReplication { return &kopiurv1.RepositoryReplication{} },
			func(o *kopiurv1.RepositoryReplication) view {
				return view{conditions: &o.Status.Conditions, generation: &o.Status.ObservedGeneration, suspended: o.Spec.Suspend}
			},
			"this version of Kopiur does not copy repositories: the destination is left as it is; until it does, copy the store with kopia "+
				"repository sync-to, or with the store's own replication"),
		of(func() *kopiurv1.SnapshotReplication { return &kopiurv1.SnapshotReplication{} },
			func(o *kopiurv1.SnapshotReplication) view {
				return view{conditions: &o.Status.Conditions, generation: &o.Status.ObservedGeneration, suspended: o.Spec.Suspend}
			},
			"this version of Kopiur does not copy snapshots: the destination is left as it is; until it does, copy them with kopia snapshot "+
				"migrate, or let a second policy back up to the destination"),
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
	p.Stalled(kopiurv1.ReasonNotYetSupported, "%s", r.kind.message)
	p.EmitChange(kopiurv1.ConditionStalled, loop.Warning(kopiurv1.ReasonNotYetSupported, action, "%s", r.kind.message))
	return ctrl.Result{}, loop.Stall{Reason: kopiurv1.ReasonNotYetSupported, Message: r.kind.message}
}
