// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
	decide "github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/deletion"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// actionDelete is what Kopiur does in events about deletions.
const actionDelete = "Delete"

// protect says whether deletions from the repository are held, and records an acknowledgement. It is in effect once it is
// recorded: what goes by it reads it from the status.
func (r *Reconciler) protect(ctx context.Context, p *loop.Patcher, s subject, status *kopiurv1.RepositoryStatus) error {
	pending, err := deletion.Pending(ctx, r.Client, s.repo.Ref)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	ack := breaker.Acknowledge(s.obj.GetAnnotations()[kopiurv1.AnnotationAllowMassDeletion], s.repo.Status.DeletionAck, r.ServerClock.Now())
	status.DeletionAck = ack.Record
	// The verdict is by the acknowledgement that was recorded before, as that of everybody else.
	verdict := deletion.Breaker(s.repo, pending)
	held := kopiurv1.ConditionMassDeletionHeld
	switch {
	case verdict.Open && ack.Fault != "":
		p.Conditions.True(held, kopiurv1.ReasonInvalidMassDeletionAck, "%s. The acknowledgement has no effect: %s", verdict.Message, ack.Fault)
	case verdict.Open:
		p.Conditions.True(held, kopiurv1.ReasonThresholdExceeded, "%s", verdict.Message)
	case ack.Fault != "":
		p.Conditions.False(held, kopiurv1.ReasonInvalidMassDeletionAck, "nothing is held. The acknowledgement has no effect: %s", ack.Fault)
	default:
		return nil
	}
	c := p.Conditions.Get(held)
	p.EmitChange(held, loop.Warning(c.Reason, actionDelete, "%s", c.Message))
	return nil
}

// deletedFrom wakes the repository of a Snapshot that is being deleted.
func deletedFrom(kind kopiurv1.RepositoryKind) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []ctrl.Request {
		s, ok := obj.(*kopiurv1.Snapshot)
		if !ok {
			return nil
		}
		ref := decide.RepositoryOf(s)
		if ref == nil || ref.Kind != kind {
			return nil
		}
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}}}
	}
}

// deletions passes what changes the count of pending deletions.
func deletions() predicate.Predicate {
	is := func(o client.Object) bool {
		s, ok := o.(*kopiurv1.Snapshot)
		return ok && decide.Counts(s)
	}
	held := func(o client.Object) bool {
		s, ok := o.(*kopiurv1.Snapshot)
		return ok && decide.MemberOf(s).Held
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return is(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return is(e.ObjectOld) != is(e.ObjectNew) || held(e.ObjectOld) != held(e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return is(e.Object) },
	}
}
