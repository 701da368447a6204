// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotreplication reconciles SnapshotReplications: it reads the world (observe.go), lets
// decide/snapshotreplication judge it, and does what the plan says (act.go, rows.go).
package snapshotreplication

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/nudge"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotreplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotreplications/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies;repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get

// Reconciler of SnapshotReplications.
type Reconciler struct {
	deps.Deps
	runs   runs
	caches keptcache.Ledger
}

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	c := mgr.GetCache()
	const woken = mapper.KindSnapshotReplication
	gvk := loop.GVKOf(&kopiurv1.SnapshotReplication{})
	b := ctrl.NewControllerManagedBy(mgr).Named("snapshotreplication").WithOptions(d.ControllerOptions()).
		For(&kopiurv1.SnapshotReplication{}).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(gvk))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(c, gvk))).
		Watches(&kopiurv1.Repository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, woken))).
		Watches(&kopiurv1.ClusterRepository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, woken)))
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.Watches(index.Metadata(kind), handler.EnqueueRequestsFromMapFunc(index.Core(c, woken, kind)))
	}
	if err := b.Complete(&Reconciler{Deps: d}); err != nil {
		return fmt.Errorf("set up the snapshot replication controller: %w", err)
	}
	return nil
}

// Reconcile moves one SnapshotReplication on.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.SnapshotReplication{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.runs.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	if !obj.DeletionTimestamp.IsZero() {
		// Its Jobs go with it by their owner references. The copies stay, and the Snapshots that stand for them.
		return ctrl.Result{}, nil
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write besides intents

	w, g, err := r.observe(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	if obj.Status.Run != nil {
		nudge.After(ctx, r.Env, w.Source, w.Outcome)
	}
	return r.act(ctx, p, w, g, decide.Decide(w, r.Clock.Now()))
}
