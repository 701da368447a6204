// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotpolicy reconciles SnapshotPolicies: it says whether snapshots of a policy can be made, under which
// identity they are filed, and when the last one succeeded. What was stored is verified on the policy's schedules; it
// starts nothing else.
package snapshotpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

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
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch

// actionReconcile is what Kopiur does in every event about a policy.
const actionReconcile = "Reconcile"

// nextTurn is when a policy with many Snapshots goes on.
const nextTurn = 100 * time.Millisecond

// groupsRecheck is when a policy that needs VolumeGroupSnapshots looks for them again: definitions of kinds are not watched.
const groupsRecheck = 5 * time.Minute

// Reconciler of SnapshotPolicies.
type Reconciler struct {
	deps.Deps

	turnstile turnstile
}

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{Deps: d}
	c := mgr.GetClient()
	b := ctrl.NewControllerManagedBy(mgr).
		For(&kopiurv1.SnapshotPolicy{}, builder.WithPredicates(edited())).
		// Another policy with the same identity came, changed or went.
		Watches(&kopiurv1.SnapshotPolicy{}, handler.EnqueueRequestsFromMapFunc(r.neighbours), builder.WithPredicates(edited())).
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(index.PolicyOfSnapshot), builder.WithPredicates(succeeded())).
		// A claim came or went that a selector finds, or found.
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(index.Core(c, mapper.KindSnapshotPolicy, mapper.KindClaim)), builder.WithPredicates(selectable())).
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(index.PoliciesOfFound(c)), builder.WithPredicates(discoveries())).
		Watches(&kopiurv1.Repository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindSnapshotPolicy))).
		Watches(&kopiurv1.ClusterRepository{}, handler.EnqueueRequestsFromMapFunc(index.Repositories(c, mapper.KindSnapshotPolicy))).
		WatchesMetadata(index.Metadata(mapper.KindNamespace), handler.EnqueueRequestsFromMapFunc(index.Core(c, mapper.KindSnapshotPolicy, mapper.KindNamespace)),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&batchv1.Job{}, index.Coalesced(policyOfJob)).
		Watches(&batchv1.Job{}, index.Coalesced(r.waiting)).
		Watches(&corev1.Pod{}, index.Coalesced(policyOfPod(c))).
		WithOptions(r.ControllerOptions())
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add the reconciler of SnapshotPolicy: %w", err)
	}
	return nil
}

// edited passes what people changed. Labels and annotations count: a repository may make identities of them.
func edited() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// succeeded passes Snapshots that became a success, or are one no more: only they change what a policy says.
func succeeded() predicate.Predicate {
	ok := func(o client.Object) bool {
		s, is := o.(*kopiurv1.Snapshot)
		return is && s.Status.Phase == kopiurv1.SnapshotSucceeded
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ok(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return ok(e.ObjectNew) != ok(e.ObjectOld) },
		DeleteFunc: func(e event.DeleteEvent) bool { return ok(e.Object) },
	}
}

// selectable passes claims of which a selector may say something else than before.
func selectable() predicate.Predicate {
	var none predicate.Funcs
	none.UpdateFunc = func(e event.UpdateEvent) bool {
		was, isWas := e.ObjectOld.(*corev1.PersistentVolumeClaim)
		is, isIs := e.ObjectNew.(*corev1.PersistentVolumeClaim)
		return isWas && isIs && (was.Status.Phase != is.Status.Phase || (was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) || !maps.Equal(was.Labels, is.Labels))
	}
	return none
}

// neighbours wakes the other policies of the same repositories.
func (r *Reconciler) neighbours(ctx context.Context, obj client.Object) []ctrl.Request {
	p, ok := obj.(*kopiurv1.SnapshotPolicy)
	if !ok {
		return nil
	}
	var out []ctrl.Request
	for _, ref := range p.RepositoryRefs() {
		others, err := r.others(ctx, ref)
		if err != nil {
			return nil
		}
		for i := range others {
			if key := client.ObjectKeyFromObject(&others[i]); key != client.ObjectKeyFromObject(p) {
				out = append(out, ctrl.Request{NamespacedName: key})
			}
		}
	}
	return out
}

// others are the policies of a repository. They belong to the cache and must not be changed.
func (r *Reconciler) others(ctx context.Context, ref kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error) {
	var list kopiurv1.SnapshotPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldRepository: mapper.Repository(ref)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies of %s: %w", ref, err)
	}
	return list.Items, nil
}

// Reconcile looks at one policy.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	obj := &kopiurv1.SnapshotPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) //nolint:wrapcheck // the cache does not fail
	}
	if r.Writes.Behind(obj) {
		return ctrl.Result{RequeueAfter: loop.BehindRetry}, nil
	}
	if obj.DeletionTimestamp != nil {
		more, err := r.cascade(ctx, obj)
		switch {
		case err != nil:
			p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
			return p.Finish(ctx, ctrl.Result{}, err) //nolint:wrapcheck // it says so and comes back
		case more:
			return ctrl.Result{RequeueAfter: nextTurn}, nil
		}
		return ctrl.Result{}, nil
	}
	// Before the patcher, which locks on the resourceVersion that this changes.
	guarded := r.guard(ctx, obj)
	p := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write

	if guarded != nil {
		return ctrl.Result{}, guarded
	}
	seen, err := r.observe(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	claims, err := r.claims(ctx, obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	groups := false
	if policy.Together(obj, claims) {
		version, err := r.Groups.Version()
		if err != nil {
			return ctrl.Result{}, err //nolint:wrapcheck // says what it looked for
		}
		groups = version != ""
	}
	v := policy.Judge(obj, claims, seen, groups)
	adopt, err := r.adopt(ctx, obj, p, v, seen)
	if err != nil {
		return ctrl.Result{}, err
	}
	after, err := r.verify(ctx, obj, p, seen, v)
	if err != nil {
		return ctrl.Result{}, err
	}
	if after <= 0 || adopt > 0 && adopt < after {
		after = adopt
	}
	verdict := r.act(obj, p, v)
	again, err := r.retain(ctx, obj, p, v) // after the counts, which it lowers
	if err != nil {
		return ctrl.Result{}, err
	}
	if again > 0 && (after <= 0 || again < after) {
		after = again
	}
	return sooner(after, verdict)
}

// sooner is the end of a reconcile that has to come back after a time, whatever its verdict; zero is no such time.
func sooner(after time.Duration, err error) (ctrl.Result, error) {
	if after <= 0 {
		return ctrl.Result{}, err
	}
	var w loop.Wait
	var s loop.Stall
	switch {
	case err == nil:
		return ctrl.Result{RequeueAfter: after}, nil
	case errors.As(err, &w):
		w.After = min(after, loop.WaitHeartbeat)
		return ctrl.Result{}, w
	case errors.As(err, &s):
		s.After = min(after, loop.StallHeartbeat)
		return ctrl.Result{}, s
	}
	return ctrl.Result{}, err
}

// observe reads the policy's repositories, and what the policies of each have to do with this one.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.SnapshotPolicy) ([]policy.Seen, error) {
	var snapshots kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Name)
	if err := r.Client.List(ctx, &snapshots, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	var out []policy.Seen
	for _, ref := range obj.RepositoryRefs() {
		s := policy.Seen{Ref: ref, History: policy.HistoryOf(obj, ref, snapshots.Items)}
		repo, err := moverjob.Load(ctx, r.Client, ref, r.OperatorNamespace)
		switch {
		case err == nil:
			s.Repository = &repo
		case !apierrors.IsNotFound(err):
			return nil, err //nolint:wrapcheck // it says what it is
		}
		if s.Allowed, err = r.allowed(ctx, s.Repository, obj.Namespace); err != nil {
			return nil, err
		}
		if s.Others, err = r.others(ctx, ref); err != nil {
			return nil, err
		}
		if s.Selected, err = r.selected(ctx, obj, s.Others); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// claims are those of a policy's namespace, where it selects. They belong to the cache and must not be changed.
func (r *Reconciler) claims(ctx context.Context, p *kopiurv1.SnapshotPolicy) ([]corev1.PersistentVolumeClaim, error) {
	if !policy.Selects(p) {
		return nil, nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &list, client.InNamespace(p.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the claims of namespace %s: %w", p.Namespace, err)
	}
	return list.Items, nil
}

// selected are the paths that the selectors of the others find.
func (r *Reconciler) selected(ctx context.Context, p *kopiurv1.SnapshotPolicy, others []kopiurv1.SnapshotPolicy) (policy.Selected, error) {
	out := policy.Selected{}
	for i := range others {
		o := &others[i]
		if o.Namespace == p.Namespace && o.Name == p.Name {
			continue
		}
		claims, err := r.claims(ctx, o)
		if err != nil {
			return nil, err
		}
		out.SelectedBy(o, claims)
	}
	return out, nil
}

// act puts a verdict into the status. A policy that is suspended is judged like any other.
func (r *Reconciler) act(obj *kopiurv1.SnapshotPolicy, p *loop.Patcher, v policy.Verdict) error {
	st := &obj.Status
	st.Resolved, st.RepositorySummary, st.LastSuccessfulSnapshot = &v.Resolved, v.Summary, v.LastSuccess
	switch {
	case st.Retention != nil:
		st.Retention.ActiveSnapshotCount = v.Count
	case v.Count > 0:
		st.Retention = &kopiurv1.PolicyRetentionStatus{ActiveSnapshotCount: v.Count}
	}
	if obj.Spec.Suspend {
		p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "spec.suspend is true: no new snapshot is started")
	}
	kind := kopiurv1.ConditionRepositoryReachable
	if len(obj.Spec.Repositories) > 0 {
		kind = kopiurv1.ConditionRepositoriesReady
	}
	if v.Waiting.Found() {
		p.Conditions.False(kind, v.Waiting.Reason, "%s", v.Waiting.Message)
	} else {
		p.Conditions.True(kind, kopiurv1.ReasonRepositoryReady, "%s: Ready", v.Summary)
	}
	switch {
	case v.Ungroupable.Found():
		p.Conditions.False(kopiurv1.ConditionGroupSnapshotSupported, v.Ungroupable.Reason, "%s", v.Ungroupable.Message)
	case v.Together:
		p.Conditions.True(kopiurv1.ConditionGroupSnapshotSupported, kopiurv1.ReasonGroupSnapshotSupported, "the claims of a run are cut at one instant, with a VolumeGroupSnapshot")
	}
	switch {
	case v.Stalled.Found():
		return r.stall(p, v.Stalled.Reason, v.Stalled.Message)
	case v.Waiting.Found():
		return loop.Wait{Reason: v.Waiting.Reason, Message: v.Waiting.Message}
	case v.Empty.Found():
		return loop.Wait{Reason: v.Empty.Reason, Message: v.Empty.Message}
	case v.Ungroupable.Found():
		return loop.Wait{After: groupsRecheck, Reason: v.Ungroupable.Reason, Message: v.Ungroupable.Message}
	}
	p.Ready(kopiurv1.ReasonPolicyReady, "%s", strings.Join(append([]string{"snapshots of this policy can be made"}, v.Idle...), "; "))
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
