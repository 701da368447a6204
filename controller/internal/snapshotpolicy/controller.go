// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotpolicy reconciles SnapshotPolicies: it says whether snapshots of a policy can be made, under which
// identity they are filed, and when the last one succeeded. It starts nothing.
package snapshotpolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories;snapshots,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// actionReconcile is what Kopiur does in every event about a policy.
const actionReconcile = "Reconcile"

// Reconciler of SnapshotPolicies.
type Reconciler struct{ deps.Deps }

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{Deps: d}
	c := mgr.GetClient()
	b := ctrl.NewControllerManagedBy(mgr).
		For(&kopiurv1.SnapshotPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// Another policy with the same identity came, changed or went.
		Watches(&kopiurv1.SnapshotPolicy{}, handler.EnqueueRequestsFromMapFunc(r.neighbours), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kopiurv1.Snapshot{}, handler.EnqueueRequestsFromMapFunc(index.PolicyOfSnapshot), builder.WithPredicates(succeeded())).
		Watches(&kopiurv1.Repository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindSnapshotPolicy))).
		Watches(&kopiurv1.ClusterRepository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindSnapshotPolicy))).
		WithOptions(r.ControllerOptions())
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add the reconciler of SnapshotPolicy: %w", err)
	}
	return nil
}

// succeeded passes Snapshots that became a success, or went: only they change what a policy says.
func succeeded() predicate.Predicate {
	ok := func(o client.Object) bool {
		s, is := o.(*kopiurv1.Snapshot)
		return is && s.Status.Phase == kopiurv1.SnapshotSucceeded
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ok(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return ok(e.ObjectNew) && !ok(e.ObjectOld) },
		DeleteFunc: func(e event.DeleteEvent) bool { return ok(e.Object) },
	}
}

// neighbours wakes the other policies of the same repository.
func (r *Reconciler) neighbours(ctx context.Context, obj client.Object) []ctrl.Request {
	p, ok := obj.(*kopiurv1.SnapshotPolicy)
	if !ok {
		return nil
	}
	others, err := r.others(ctx, p)
	if err != nil {
		return nil
	}
	var out []ctrl.Request
	for i := range others {
		if key := client.ObjectKeyFromObject(&others[i]); key != client.ObjectKeyFromObject(p) {
			out = append(out, ctrl.Request{NamespacedName: key})
		}
	}
	return out
}

func (r *Reconciler) others(ctx context.Context, p *kopiurv1.SnapshotPolicy) ([]kopiurv1.SnapshotPolicy, error) {
	var out []kopiurv1.SnapshotPolicy
	for _, key := range mapper.PolicyRepository(p) {
		var list kopiurv1.SnapshotPolicyList
		if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldRepository: key}); err != nil {
			return nil, fmt.Errorf("list the policies of a repository: %w", err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// Reconcile looks at one policy.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.SnapshotPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if obj.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	id := obj.IdentityOf("")
	obj.Status.Resolved = &kopiurv1.PolicyResolved{Identity: &id, Sources: policy.Sources(obj)}
	obj.Status.RepositorySummary = summary(obj)
	if err := r.lastSuccess(ctx, obj); err != nil {
		return ctrl.Result{}, err
	}
	if obj.Spec.Suspend {
		p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "spec.suspend is true: no new snapshot is started")
	}
	return ctrl.Result{}, r.verdict(ctx, obj, p)
}

// summary names the policy's repositories for people.
func summary(obj *kopiurv1.SnapshotPolicy) string {
	var names []string
	for _, ref := range obj.RepositoryRefs() {
		names = append(names, ref.String())
	}
	return strings.Join(names, ", ")
}

// verdict says whether snapshots can be made. A policy that is suspended is judged like any other.
func (r *Reconciler) verdict(ctx context.Context, obj *kopiurv1.SnapshotPolicy, p *loop.Patcher) error {
	if refusal := validation.Guard(obj); refusal.Refused() {
		return r.stall(p, refusal.Reason, refusal.Message)
	}
	others, err := r.others(ctx, obj)
	if err != nil {
		return err
	}
	if c := policy.Collides(obj, others); c != nil {
		return r.stall(p, kopiurv1.ReasonIdentityCollision, fmt.Sprintf(
			"SnapshotPolicy %s files snapshots in the same repository under the same identity %s: change spec.identity or sourcePathOverride of one of them", c.Policy, obj.IdentityOf(c.Path)))
	}
	ref := *obj.SoleRepository() // the guard has seen to it
	repo, err := moverjob.Load(ctx, r.Client, ref, r.OperatorNamespace)
	var known *moverjob.Repository
	switch {
	case err == nil:
		known = &repo
	case !apierrors.IsNotFound(err):
		return err //nolint:wrapcheck // it says what it is
	}
	allowed, err := r.allowed(ctx, known, obj.Namespace)
	if err != nil {
		return err
	}
	v := gates.Repository(ref.String(), known, allowed)
	if !v.Open {
		p.Conditions.False(kopiurv1.ConditionRepositoryReady, v.Reason, "%s", v.Message)
		return loop.Wait{Reason: v.Reason, Message: v.Message}
	}
	p.Conditions.True(kopiurv1.ConditionRepositoryReady, kopiurv1.ReasonRepositoryReady, "%s", v.Message)
	p.Ready(kopiurv1.ReasonPolicyReady, "snapshots of this policy can be made")
	return nil
}

func (r *Reconciler) allowed(ctx context.Context, repo *moverjob.Repository, namespace string) (bool, error) {
	if repo == nil || repo.Allowed == nil {
		return true, nil
	}
	var labels map[string]string
	if repo.Allowed.Selector != nil {
		ns, err := gates.Namespace(ctx, r.Live, namespace)
		if err != nil {
			return false, fmt.Errorf("judge the repository: %w", err)
		}
		labels = ns.Labels
	}
	return repo.Allowed.Allows(namespace, labels), nil
}

// stall reports a fault of the policy, with an event when it is new.
func (r *Reconciler) stall(p *loop.Patcher, reason, message string) error {
	if was := p.Was(kopiurv1.ConditionStalled); was == nil || was.Reason != reason || was.Status != "True" {
		p.Emit(loop.Warning(reason, actionReconcile, "%s", message))
	}
	return loop.Stall{Reason: reason, Message: message}
}

// lastSuccess is the end of the newest success. It never goes back when a Snapshot is pruned: the backup was made.
func (r *Reconciler) lastSuccess(ctx context.Context, obj *kopiurv1.SnapshotPolicy) error {
	var list kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	newest, _ := time.Parse(time.RFC3339, obj.Status.LastSuccessfulSnapshot)
	for i := range list.Items {
		s := &list.Items[i]
		if s.Status.Phase != kopiurv1.SnapshotSucceeded || s.Status.Timing == nil {
			continue
		}
		if end, err := time.Parse(time.RFC3339, s.Status.Timing.EndTime); err == nil && end.After(newest) {
			newest = end
		}
	}
	if !newest.IsZero() {
		obj.Status.LastSuccessfulSnapshot = newest.UTC().Format(time.RFC3339)
	}
	return nil
}
