// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotschedule reconciles SnapshotSchedules: it makes Snapshots at the times that they name, and removes the
// records of those that failed long ago. When and which is decide/schedule's to say.
package snapshotschedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotschedules/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies;repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch

// Reconciler of SnapshotSchedules.
type Reconciler struct{ deps.Deps }

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{Deps: d}
	c := mgr.GetClient()
	wake := handler.EnqueueRequestsFromMapFunc
	edited := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).
		For(&kopiurv1.SnapshotSchedule{}, edited).
		Watches(&kopiurv1.Snapshot{}, wake(index.ScheduleOfSnapshot), builder.WithPredicates(ended())).
		// Labels decide who is selected. An edit of the status would wake every schedule of the namespace for nothing.
		Watches(&kopiurv1.SnapshotPolicy{}, wake(index.Policies(c, mapper.KindSnapshotSchedule)),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))).
		Watches(&kopiurv1.Repository{}, wake(index.Repositories(c, mapper.KindSnapshotSchedule)), edited).
		Watches(&kopiurv1.ClusterRepository{}, wake(index.Repositories(c, mapper.KindSnapshotSchedule)), edited).
		WithOptions(r.ControllerOptions())
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add the reconciler of SnapshotSchedule: %w", err)
	}
	return nil
}

// ended passes Snapshots that came to their end, or went.
func ended() predicate.Predicate {
	over := func(o client.Object) bool {
		s, ok := o.(*kopiurv1.Snapshot)
		return ok && s.Status.Phase.Terminal()
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // a schedule that starts looks at all of them
		UpdateFunc: func(e event.UpdateEvent) bool { return over(e.ObjectNew) && !over(e.ObjectOld) },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}

// Reconcile looks at one schedule.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.SnapshotSchedule{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if obj.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // its Snapshots go by their owner references, and have rules of their own for that
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	w, err := r.observe(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.act(ctx, obj, p, schedule.Decide(w, r.Clock.Now()))
}

// observe reads everything from the caches.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.SnapshotSchedule) (schedule.World, error) {
	w := schedule.World{Schedule: obj, Created: obj.CreationTimestamp.Add(r.offset())}
	var snapshots kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Name)
	if err := r.Client.List(ctx, &snapshots, client.MatchingFields{mapper.FieldSchedule: key}, client.UnsafeDisableDeepCopy); err != nil {
		return w, fmt.Errorf("list the snapshots of schedule %s: %w", key, err)
	}
	for i := range snapshots.Items {
		// One of the same name that was deleted has left some behind; they are not this one's.
		if s := &snapshots.Items[i]; owned(s, obj) {
			w.Children = append(w.Children, s)
		}
	}
	var err error
	if w.Policies, err = r.policies(ctx, obj); err != nil {
		return w, err
	}
	if slices.ContainsFunc(w.Policies, selects) {
		var claims corev1.PersistentVolumeClaimList
		if err := r.Client.List(ctx, &claims, client.InNamespace(obj.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return w, fmt.Errorf("list the claims of namespace %s: %w", obj.Namespace, err)
		}
		w.Claims = claims.Items
	}
	seen := map[kopiurv1.RepositoryRef]bool{}
	for _, p := range w.Policies {
		for _, ref := range p.RepositoryRefs() {
			if seen[ref] {
				continue
			}
			seen[ref] = true
			d, err := r.defaults(ctx, ref)
			if err != nil {
				return w, err
			}
			w.Defaults = append(w.Defaults, d)
		}
	}
	return w, nil
}

func selects(p *kopiurv1.SnapshotPolicy) bool {
	return slices.ContainsFunc(p.Spec.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil })
}

// offset is how far the clock of decisions is ahead of the API server's.
func (r *Reconciler) offset() time.Duration { return r.Clock.Now().Sub(r.ServerClock.Now()) }

func owned(s *kopiurv1.Snapshot, by *kopiurv1.SnapshotSchedule) bool {
	for _, ref := range s.OwnerReferences {
		if ref.UID == by.UID {
			return true
		}
	}
	return false
}

// policies that the schedule names or selects. They belong to the cache and must not be changed.
func (r *Reconciler) policies(ctx context.Context, obj *kopiurv1.SnapshotSchedule) ([]*kopiurv1.SnapshotPolicy, error) {
	if ref := obj.Spec.PolicyRef; ref != nil {
		p := &kopiurv1.SnapshotPolicy{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: ref.Name}, p)
		switch {
		case apierrors.IsNotFound(err) || err == nil && p.DeletionTimestamp != nil:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("get policy %s/%s: %w", obj.Namespace, ref.Name, err)
		}
		return []*kopiurv1.SnapshotPolicy{p}, nil
	}
	if obj.Spec.PolicySelector == nil {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(obj.Spec.PolicySelector)
	if err != nil {
		return nil, nil //nolint:nilerr // validation says what is wrong with it
	}
	var list kopiurv1.SnapshotPolicyList
	if err := r.Client.List(ctx, &list, client.InNamespace(obj.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies of namespace %s: %w", obj.Namespace, err)
	}
	var out []*kopiurv1.SnapshotPolicy
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// defaults of a repository; none where it does not exist.
func (r *Reconciler) defaults(ctx context.Context, ref kopiurv1.RepositoryRef) (schedule.Default, error) {
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if ref.Kind == kopiurv1.KindClusterRepository {
		var repo kopiurv1.ClusterRepository
		if err := client.IgnoreNotFound(r.Client.Get(ctx, key, &repo)); err != nil {
			return schedule.Default{}, fmt.Errorf("get %s: %w", ref, err)
		}
		return schedule.DefaultOf(ref, repo.Spec.ScheduleDefaults), nil
	}
	var repo kopiurv1.Repository
	if err := client.IgnoreNotFound(r.Client.Get(ctx, key, &repo)); err != nil {
		return schedule.Default{}, fmt.Errorf("get %s: %w", ref, err)
	}
	return schedule.DefaultOf(ref, repo.Spec.ScheduleDefaults), nil
}
