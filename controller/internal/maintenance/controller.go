// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance reconciles Maintenances: it reads the world, lets decide/maintenance judge it, and does what the plan
// says. While a mover maintains a store, the controller holds the Lease of that store for it, so that no two of one
// cluster ever overlap, whatever the objects are that lead there; against other clusters there is the owner that is
// registered in the repository itself.
package maintenance

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/nudge"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=maintenances,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=maintenances/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update;delete,namespace=kopiur-system

// Reconciler of Maintenances.
type Reconciler struct {
	deps.Deps

	caches keptcache.Ledger

	mu sync.Mutex
	// renewed is when the Lease of a run was last written by this process.
	renewed map[types.UID]time.Time
}

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	c := mgr.GetClient()
	gvk := loop.GVKOf(&kopiurv1.Maintenance{})
	wake := handler.EnqueueRequestsFromMapFunc
	b := ctrl.NewControllerManagedBy(mgr).
		// Its own status wakes it too: the reconcile after a recorded run lets go of Lease and Job.
		For(&kopiurv1.Maintenance{}).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(gvk))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(c, gvk))).
		Watches(&kopiurv1.Repository{}, wake(index.Repositories(c, mapper.KindMaintenance))).
		Watches(&kopiurv1.ClusterRepository{}, wake(index.Repositories(c, mapper.KindMaintenance))).
		Watches(&corev1.PersistentVolumeClaim{}, wake(index.Core(c, mapper.KindMaintenance, mapper.KindClaim))).
		WithOptions(d.ControllerOptions())
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.WatchesMetadata(index.Metadata(kind), wake(index.Core(c, mapper.KindMaintenance, kind)))
	}
	if err := b.Complete(&Reconciler{Deps: d, renewed: map[types.UID]time.Time{}}); err != nil {
		return fmt.Errorf("add the reconciler of Maintenance: %w", err)
	}
	return nil
}

// Reconcile looks at one Maintenance.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.Maintenance{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	if obj.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // its Job goes by its owner reference; the Lease is taken over once its pods are gone
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	w, past, err := r.observe(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := decide.Decide(w, r.Clock.Now())
	if plan.Recorded {
		nudge.After(ctx, r.Env, w.Repository, w.Outcome)
	}
	return r.act(ctx, p, w, past, plan)
}
