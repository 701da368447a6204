// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// pin does the next thing for the pin of a finished snapshot. The Snapshot stays what it is: only Pinned and, with the
// answer, the manifest's id change.
func (r *Reconciler) pin(ctx context.Context, s *scope) (ctrl.Result, error) {
	s.rest()
	for _, c := range s.plan.Conditions {
		s.set(c)
		if c.Type == kopiurv1.ConditionPinned && c.Status != "True" && c.Reason != kopiurv1.ReasonUnpinned {
			s.patcher.EmitChange(c.Type, loop.Warning(c.Reason, "Pin", "%s", c.Message))
		}
	}
	st, job := &s.obj.Status, s.plan.Job
	switch s.plan.Action {
	case plan.PinStart:
		if v, err := projection.Before(ctx, r.Live, r.Client, s.w.Repository, s.obj.Namespace, r.Clock.Now()); err != nil {
			return ctrl.Result{}, fmt.Errorf("pin: %w", err)
		} else if !v.Open {
			s.patcher.Conditions.False(kopiurv1.ConditionPinned, v.Reason, "%s", v.Message)
			return ctrl.Result{RequeueAfter: s.plan.After}, nil
		}
		switch err := moverjob.Ensure(ctx, r.Client, job.DeepCopy()); {
		case errors.Is(err, moverjob.ErrNameTaken):
			s.patcher.Conditions.False(kopiurv1.ConditionPinned, kopiurv1.ReasonJobNameTaken, "Job %s belongs to somebody else and is not touched: delete or rename it", job.Name)
		case apierrors.IsNotFound(err):
			return ctrl.Result{RequeueAfter: cacheLag}, nil
		case err != nil:
			return ctrl.Result{}, fmt.Errorf("pin: %w", err)
		default:
		}
	case plan.PinRecord:
		pin := s.plan.Outcome.Result.Pin
		// In one write: an id without its pin, or the reverse, would be acted upon (acceptance J-4, K-3).
		st.Snapshot.KopiaSnapshotID, st.Pinned = pin.SnapshotID, new(pin.Pinned)
		s.patcher.Emit(loop.Normal(s.plan.Conditions[0].Reason, "Pin", "%s", s.plan.Conditions[0].Message))
		return ctrl.Result{RequeueAfter: settleAfter}, nil
	case plan.PinFail:
		return ctrl.Result{RequeueAfter: s.plan.After}, moverjob.Reap(ctx, r.Client, job)
	default:
	}
	return ctrl.Result{RequeueAfter: s.plan.After}, nil
}

// pinJobs reads the pin Jobs of a Snapshot from the cache.
func (r *Reconciler) pinJobs(ctx context.Context, s *kopiurv1.Snapshot) ([]plan.JobPods, error) {
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.InNamespace(s.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOwnerUID:  string(s.UID),
		kopiurv1.LabelOperation: plan.OpPin,
	}); err != nil {
		return nil, fmt.Errorf("list the pin Jobs of snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	var out []plan.JobPods
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !metav1.IsControlledBy(job, s) {
			continue
		}
		pods, err := moverjob.Evidence(ctx, r.Client, r.Live, job)
		if err != nil {
			return nil, fmt.Errorf("observe: %w", err)
		}
		out = append(out, plan.JobPods{Job: job, Pods: pods})
	}
	return out, nil
}
