// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replication reconciles RepositoryReplications: it reads the world, lets decide/replication judge it, and does
// what the plan says. One pod reads the source and writes the destination; it runs in the namespace of the replication,
// where the destination's Secret lies.
package replication

import (
	"context"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositoryreplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositoryreplications/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get

// Reconciler of RepositoryReplications.
type Reconciler struct {
	deps.Deps

	caches keptcache.Ledger

	// starts is held from the look at what is at work at a destination until the Job is made.
	starts sync.Mutex
}

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	c := mgr.GetClient()
	gvk := loop.GVKOf(&kopiurv1.RepositoryReplication{})
	wake := handler.EnqueueRequestsFromMapFunc
	b := ctrl.NewControllerManagedBy(mgr).
		// Its own status wakes it too: the reconcile after a recorded run lets go of the Job.
		For(&kopiurv1.RepositoryReplication{}).
		// Of those to one place only the elder one goes on.
		Watches(&kopiurv1.RepositoryReplication{}, wake(index.Destinations(c)), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(gvk))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(c, gvk))).
		Watches(&kopiurv1.Repository{}, wake(index.Repositories(c, mapper.KindRepositoryReplication))).
		Watches(&kopiurv1.ClusterRepository{}, wake(index.Repositories(c, mapper.KindRepositoryReplication))).
		Watches(&corev1.PersistentVolumeClaim{}, wake(index.Core(c, mapper.KindRepositoryReplication, mapper.KindClaim))).
		WithOptions(d.ControllerOptions())
	for _, kind := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.WatchesMetadata(index.Metadata(kind), wake(index.Core(c, mapper.KindRepositoryReplication, kind)))
	}
	if err := b.Complete(&Reconciler{Deps: d}); err != nil {
		return fmt.Errorf("add the reconciler of RepositoryReplication: %w", err)
	}
	return nil
}

// Reconcile looks at one RepositoryReplication. One that is being deleted needs nothing: its Job goes by its owner
// reference, and the copy stays.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.RepositoryReplication{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	if obj.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	w, past, err := r.observe(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.act(ctx, p, w, past, decide.Decide(w, r.Clock.Now()))
}
