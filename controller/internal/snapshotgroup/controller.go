// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotgroup removes what cutting the claims of a run together has left: labels of claims, once they say
// nothing any more, and VolumeGroupSnapshots that no Snapshot needs. It is a reconciler of its own because a group belongs
// to no single Snapshot, and because any of them may be deleted at any time.
package snapshotgroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshots,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshotcontents,verbs=get;patch
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=list
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshotcontents,verbs=get;patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch

// Reconciler tidies up after groups. Its requests are namespaces and names of VolumeGroupSnapshots.
type Reconciler struct{ deps.Deps }

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{d}
	ctl, err := ctrl.NewControllerManagedBy(mgr).
		Named("snapshotgroup").
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(ofSnapshot), builder.WithPredicates(released())).
		Watches(&corev1.PersistentVolumeClaim{}, index.Coalesced(ofLabel), builder.WithPredicates(labelled())).
		WithOptions(r.ControllerOptions()).
		Build(r)
	if err != nil {
		return fmt.Errorf("add the reconciler of groups: %w", err)
	}
	d.Groups.Wakes(ctl, ofLabel, index.Coalesced)
	return nil
}

func request(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func ofSnapshot(_ context.Context, obj client.Object) []reconcile.Request {
	if s, ok := obj.(*kopiurv1.Snapshot); ok {
		return request(s.Namespace, group.Of(s))
	}
	return nil
}

func ofLabel(_ context.Context, obj client.Object) []reconcile.Request {
	return request(obj.GetNamespace(), obj.GetLabels()[kopiurv1.LabelGroup])
}

func member(obj client.Object) (group.Member, bool) {
	s, ok := obj.(*kopiurv1.Snapshot)
	if !ok || group.Of(s) == "" {
		return group.Member{}, false
	}
	return group.MemberOf(s), true
}

// released passes Snapshots that a group was kept for and is not any more. The groups that a process finds when it starts
// come by themselves.
func released() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := member(e.ObjectOld)
			is, _ := member(e.ObjectNew)
			return ok && was.Needs && !is.Needs
		},
		DeleteFunc: func(e event.DeleteEvent) bool { _, ok := member(e.Object); return ok },
	}
}

func labelled() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[kopiurv1.LabelGroup] != "" })
}

// Reconcile looks at one group.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	after, err := r.tidy(ctx, req.NamespacedName)
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: time.Second}, nil // a claim that was read from the cache was old
	case err != nil:
		// It has no object to write its trouble to: what goes on too long is seen on the group itself.
		logf.FromContext(ctx).Info("Tidying up again later", "volumeGroupSnapshot", req.String(), "reason", err.Error())
		return ctrl.Result{RequeueAfter: loop.Spread("VolumeGroupSnapshot", req.Namespace, req.Name)}, nil
	}
	return ctrl.Result{RequeueAfter: after}, nil
}
