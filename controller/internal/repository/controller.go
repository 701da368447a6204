// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/seed"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories/status;clusterrepositories/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=create;delete

// Reconciler of one of the two kinds.
type Reconciler struct {
	deps.Deps
	kind     kind
	listings listings
	caches   keptcache.Ledger
}

// Setup adds the reconcilers of both kinds.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	for _, k := range kinds() {
		r := &Reconciler{Deps: d, kind: k}
		if err := r.setup(mgr); err != nil {
			return fmt.Errorf("add the reconciler of %s: %w", k.name, err)
		}
	}
	return nil
}

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	c := mgr.GetClient()
	b := ctrl.NewControllerManagedBy(mgr).
		For(r.kind.new(), builder.WithPredicates(relevant())).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(r.kind.gvk()))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwnerByUID(c, r.kind.gvk()))).
		// A mover of somebody else that succeeds ends a row of failures.
		Watches(&batchv1.Job{}, index.Coalesced(index.JobRepository(c, r.kind.name)), builder.WithPredicates(completed())).
		// What it is to be filled from.
		Watches(&kopiurv1.Repository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, r.kind.name))).
		Watches(&kopiurv1.ClusterRepository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, r.kind.name))).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(index.Core(c, r.kind.name, mapper.KindClaim))).
		Watches(&kopiurv1.SnapshotPolicy{}, index.Coalesced(repositoriesOf(kopiurv1.RepositoryKind(r.kind.name))), builder.WithPredicates(asking())).
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(deletedFrom(kopiurv1.RepositoryKind(r.kind.name))), builder.WithPredicates(deletions())).
		// Somebody's own Maintenance came or went, or ours was edited.
		Watches(&kopiurv1.Maintenance{}, handler.EnqueueRequestsFromMapFunc(maintained(kopiurv1.RepositoryKind(r.kind.name))), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(r.ControllerOptions())
	for _, core := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.WatchesMetadata(index.Metadata(core), handler.EnqueueRequestsFromMapFunc(index.Core(c, r.kind.name, core)))
	}
	if r.ServerImage != "" {
		b = b.Watches(&appsv1.Deployment{}, index.Coalesced(r.servedBy)).
			Watches(&corev1.Service{}, index.Coalesced(r.servedBy)).
			Watches(&corev1.Pod{}, index.Coalesced(r.servedBy)).
			WatchesMetadata(index.Metadata(mapper.KindSecret), index.Coalesced(r.servedBy))
	}
	return b.Complete(r) //nolint:wrapcheck // wrapped by the caller
}

// relevant passes changes of the spec and of annotations, one of which asks for another connect. A status that we wrote
// ourselves wakes us too: the reconcile after it gives the recorded Job its time to live.
func relevant() predicate.Predicate { return predicate.ResourceVersionChangedPredicate{} }

// completed passes Jobs at the moment of their success.
func completed() predicate.Predicate {
	done := func(o client.Object) bool {
		j, ok := o.(*batchv1.Job)
		return ok && j.Status.CompletionTime != nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return done(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return done(e.ObjectNew) && !done(e.ObjectOld) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile looks at one repository.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := r.kind.new()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			breakerTrips.DeleteLabelValues(string(r.kind.name), req.Namespace, req.Name)
			r.listings.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	s := r.kind.wrap(obj, r.OperatorNamespace)
	p := s.patcher(r.Env)
	if again, err := r.guard(ctx, s); err != nil {
		return p.Finish(ctx, ctrl.Result{}, err)
	} else if again || obj.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil // its Jobs go by their owner references; the store is never touched
	}
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	if seed.Armed(s.repo.Spec, s.repo.Status) {
		return r.seed(ctx, p, s)
	}
	if err := r.seeded(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	w, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := connect.Decide(w.input, r.Clock.Now())
	if err := r.protect(ctx, p, s, &plan.Status); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.upkeep(ctx, p, s, plan.Status.UniqueID); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.serve(ctx, p, s, &plan.Status); err != nil {
		return ctrl.Result{}, err
	}
	return r.act(ctx, p, s, w, plan)
}

// say puts a plan into the status and its conditions.
func say(p *loop.Patcher, s subject, plan connect.Plan) {
	conditions, generation := s.status.Conditions, s.status.ObservedGeneration
	*s.status = plan.Status
	s.status.Conditions, s.status.ObservedGeneration = conditions, generation

	p.Carry(kopiurv1.ConditionBackendReachable, kopiurv1.ConditionSeeded)
	for _, c := range plan.Conditions {
		switch c.Status {
		case "True":
			p.Conditions.True(c.Type, c.Reason, "%s", c.Message)
		case "False":
			p.Conditions.False(c.Type, c.Reason, "%s", c.Message)
		default:
			p.Conditions.Unknown(c.Type, c.Reason, "%s", c.Message)
		}
	}
	p.Carry(plan.Carry...)
	switch plan.Verdict {
	case connect.Ready:
		p.Ready(plan.Reason, "%s", plan.Message)
	case connect.Progressing:
		p.Progressing(plan.Reason, "%s", plan.Message)
	case connect.Stalled:
		p.Stalled(plan.Reason, "%s", plan.Message)
	case connect.Keep:
		p.Carry(kopiurv1.ConditionReady, kopiurv1.ConditionReconciling, kopiurv1.ConditionStalled)
	}
	if plan.Suspended {
		p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "no new work is started until spec.suspend is false")
	}
}
