// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session keeps repositories open for people who look into backups: it turns a ConfigMap that asks for a session
// into a mover's Job, writes on the ConfigMap what became of that, and deletes it when the session is over. What is decided
// is decided in decide/session.
package session

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/session"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/nudge"
)

// A ConfigMap of ours is changed in its annotations and deleted. RBAC cannot tell them from others; the label does.
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete;get;list;watch

// Reconciler of sessions.
type Reconciler struct{ deps.Deps }

// Setup adds the reconciler to a manager. ConfigMaps come from the cache of their metadata, which is there anyway and says
// nothing but that one has changed; the few that are ours are then read live.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("session").WithOptions(d.ControllerOptions()).
		Watches(index.Metadata(mapper.KindConfigMap), &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.NewPredicateFuncs(ours))).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(decide.GVK))).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(mgr.GetCache(), decide.GVK))).
		Complete(&Reconciler{Deps: d})
	if err != nil {
		return fmt.Errorf("set up the session controller: %w", err)
	}
	return nil
}

func ours(obj client.Object) bool {
	return obj.GetLabels()[kopiurv1.LabelSession] == kopiurv1.SessionBrowse
}

// Reconcile moves one session on.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	cm := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, req.NamespacedName, cm)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // its Job goes with it
	}
	if err == nil && (!ours(cm) || cm.DeletionTimestamp != nil) {
		return ctrl.Result{}, nil
	}
	var res ctrl.Result
	if err == nil {
		res, err = r.session(ctx, cm)
	}
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil // somebody else has changed it meanwhile
	case err != nil:
		logf.FromContext(ctx).Error(err, "Retrying after an error", "kind", "session", "object", req.String())
		if !loop.IsTransport(err) {
			r.tell(cm, loop.Warning(kopiurv1.ReasonKubeAPIError, action, "%s", err))
		}
		return ctrl.Result{RequeueAfter: loop.Spread("session", req.Namespace, req.Name)}, nil
	default:
		return res, nil
	}
}

func (r *Reconciler) session(ctx context.Context, cm *corev1.ConfigMap) (ctrl.Result, error) {
	w, err := r.observe(ctx, cm) // every read
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe the session: %w", err)
	}
	nudge.After(ctx, r.Env, w.Repository, w.Outcome)
	plan := decide.Decide(w, r.ServerClock.Now()) // no I/O, table-tested
	return r.act(ctx, w, plan)                    // every write
}
