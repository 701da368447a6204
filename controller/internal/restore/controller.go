// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore reconciles Restores: it reads the world (observe.go), lets decide/restore judge it, and does what the
// plan says (act.go). Everything it knows lies in the object and the cluster.
package restore

import (
	"context"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/nudge"
	"github.com/kopiur/kopiur/controller/internal/streamaccess"
)

// A claim is made and read, never changed or deleted: it is the user's. What is deleted are helper claims, and what is
// changed are the volumes behind them, when they are handed over.
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=restores,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=restores/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots;snapshotpolicies;repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=create;delete;get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;patch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete;get;list;patch;watch

// Reconciler of Restores.
type Reconciler struct {
	deps.Deps
	streams *streamaccess.Granter
	// starting makes one step of the last look for other writers and the create that follows it.
	starting sync.Mutex
}

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	c := mgr.GetCache()
	core := func(kind string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(index.Core(c, mapper.KindRestore, kind))
	}
	gvk := loop.GVKOf(&kopiurv1.Restore{})
	b := ctrl.NewControllerManagedBy(mgr).Named("restore").WithOptions(d.ControllerOptions()).
		For(&kopiurv1.Restore{}).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(gvk))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(c, gvk))).
		Watches(&kopiurv1.Snapshot{}, handler.EnqueueRequestsFromMapFunc(index.Snapshots(c, mapper.KindRestore))).
		Watches(&kopiurv1.SnapshotPolicy{}, handler.EnqueueRequestsFromMapFunc(index.Policies(c, mapper.KindRestore))).
		Watches(&kopiurv1.Repository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindRestore))).
		Watches(&kopiurv1.ClusterRepository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindRestore))).
		Watches(&corev1.PersistentVolumeClaim{}, core(mapper.KindClaim)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(index.Populator))
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.Watches(index.Metadata(kind), core(kind))
	}
	if err := b.Complete(&Reconciler{Deps: d, streams: &streamaccess.Granter{Client: d.Client, Live: d.Live, Role: d.StreamRole}}); err != nil {
		return fmt.Errorf("set up the restore controller: %w", err)
	}
	return nil
}

// Reconcile moves one Restore on.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.Restore{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); apierrors.IsNotFound(err) {
		return r.forsaken(ctx, req.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("get restore %s: %w", req.NamespacedName, err)
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	if !obj.DeletionTimestamp.IsZero() {
		// Its Jobs go with it by their owner references, and nothing of the user's does.
		return ctrl.Result{}, nil
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write besides intents

	w, err := r.observe(ctx, obj) // every read
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.refuseClaims(ctx, obj); err != nil {
		return ctrl.Result{}, err
	}
	r.nudgeClaims(ctx, w)
	if decide.InFlight(obj) {
		nudge.After(ctx, r.Env, w.Repository, w.Outcome)
	}
	plan := decide.Decide(w, r.Clock.Now()) // no I/O, table-tested
	return r.act(ctx, p, obj, w, plan)      // every write
}
