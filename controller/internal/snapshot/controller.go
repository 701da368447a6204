// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot reconciles Snapshots: it observes the world, asks decide/plan what comes next and does that one thing.
package snapshot

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/hooks"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/streamaccess"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies;repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=list
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshotcontents,verbs=get;patch
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshotclasses,verbs=list

// Reconciler makes Snapshots.
type Reconciler struct {
	deps.Deps
	// Mapper tells whether the cluster serves VolumeSnapshots.
	Mapper meta.RESTMapper

	// watchStaged starts the watch on VolumeSnapshots. It is done at the first one that is waited for, because the kind
	// may be absent from the cluster or appear later.
	watchStaged func() error
	pool        pool
	caches      keptcache.Ledger
	hooks       *hooks.Runner
	streams     *streamaccess.Granter
	watching    sync.Mutex
	watched     bool
}

// Reconcile does the next thing for one Snapshot.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.Snapshot{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the manager logs it with the object
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	switch {
	case obj.DeletionTimestamp == nil && catalog.IsRow(obj):
		return ctrl.Result{}, nil // it shows what was found; whoever found it keeps it up to date
	case obj.DeletionTimestamp == nil && snapshotreplication.IsUntold(obj):
		return ctrl.Result{}, nil // whoever copied it is about to say what it is
	case obj.DeletionTimestamp == nil && catalog.Taken(obj):
		return r.taken(ctx, obj)
	case obj.DeletionTimestamp == nil:
	case slices.Contains(obj.Finalizers, kopiurv1.FinalizerHooks):
		return r.thawDeleted(ctx, obj) // the application first: it may stand still
	default:
		r.pool.release(obj.UID)
		return r.dispose(ctx, obj)
	}
	w, p, err := r.observe(ctx, obj)
	if err == nil {
		err = r.guard(ctx, obj, p)
	}
	if err == nil {
		if !past(p, obj) {
			r.pool.release(obj.UID)
		}
		// Before the patcher, which locks on the resourceVersion that this changes.
		err = r.label(ctx, obj, w, p)
	}
	patcher := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = patcher.Finish(ctx, res, err) }() // the only status write but for status.staged
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.act(ctx, &scope{obj: obj, w: w, plan: p, patcher: patcher, now: r.Clock.Now()})
}

// taken makes a row that a policy has taken over a finished Snapshot of that policy.
func (r *Reconciler) taken(ctx context.Context, obj *kopiurv1.Snapshot) (ctrl.Result, error) {
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	obj.Status.Phase, obj.Status.Origin = kopiurv1.SnapshotSucceeded, kopiurv1.OriginAdopted
	const message = "found in the repository and taken over by SnapshotPolicy %s"
	p.Conditions.True(kopiurv1.ConditionSnapshotCreated, kopiurv1.ReasonSnapshotAdopted, message, obj.Spec.PolicyRef.Name)
	p.Ready(kopiurv1.ReasonSnapshotAdopted, message, obj.Spec.PolicyRef.Name)
	return p.Finish(ctx, ctrl.Result{}, nil) //nolint:wrapcheck // the only status write
}

// past reports whether a Snapshot is past the gate of slots, or waits at it.
func past(p plan.Plan, obj *kopiurv1.Snapshot) bool {
	switch p.Action {
	case plan.Start, plan.Stage, plan.Cut, plan.Follow:
		return true
	case plan.Wait:
		return active(obj) || slices.ContainsFunc(p.Conditions, func(c metav1.Condition) bool { return c.Type == kopiurv1.ConditionRepositorySlotAvailable })
	default:
		return false
	}
}

// observe reads what the decision needs and no more: whatever costs a request is read only when it is asked for.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.Snapshot) (plan.World, plan.Plan, error) {
	w, err := r.world(ctx, obj)
	if err != nil {
		return w, plan.Plan{}, err
	}
	for {
		p := plan.Decide(w, r.Clock.Now())
		if p.Ask == 0 {
			return w, p, nil
		}
		if w.Asked&p.Ask != 0 {
			return w, p, fmt.Errorf("decide about %s/%s: asked twice for fact %b", obj.Namespace, obj.Name, p.Ask)
		}
		if err := r.look(ctx, &w, p.Ask); err != nil {
			return w, p, err
		}
		w.Asked |= p.Ask
	}
}
