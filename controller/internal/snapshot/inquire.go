// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=restores,verbs=get;list;watch

// emptyStart finds out whether a volume that a Restore left empty is backed up for the first time, and what the repository
// was asked about that.
func (r *Reconciler) emptyStart(ctx context.Context, w *plan.World, snapshots []kopiurv1.Snapshot) error {
	s := w.Snapshot
	var restores kopiurv1.RestoreList
	if err := r.Client.List(ctx, &restores, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the restores of namespace %s: %w", s.Namespace, err)
	}
	if w.EmptyStart = plan.EmptyStartOf(*w, restores.Items, snapshots); w.EmptyStart == nil {
		return nil
	}
	job, err := moverjob.Fetch(ctx, r.Client, s.Namespace, plan.QuestionName(s), s.UID)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, job)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Question = plan.JobPods{Job: job, Pods: pods}
	return nil
}

// inquire asks the repository, or takes a Job away that has not answered: its end brings the next turn.
func (r *Reconciler) inquire(ctx context.Context, s *scope) error {
	if s.plan.Lost != nil {
		if err := moverjob.Reap(ctx, r.Client, s.plan.Lost); err != nil {
			return fmt.Errorf("inquire: %w", err)
		}
		return s.wait()
	}
	if v, err := projection.Before(ctx, r.Live, r.Client, s.w.Repository, s.obj.Namespace, r.Clock.Now()); err != nil {
		return fmt.Errorf("inquire: %w", err)
	} else if !v.Open {
		s.patcher.Conditions.False(kopiurv1.ConditionCredentialsAvailable, v.Reason, "%s", v.Message)
		s.plan.Reason, s.plan.Message, s.plan.After = v.Reason, v.Message, nameRecheck
		return s.wait()
	}
	switch err := moverjob.Ensure(ctx, r.Client, s.plan.Job.DeepCopy()); {
	case errors.Is(err, moverjob.ErrNameTaken):
		return s.nameTaken(s.plan.Job)
	case apierrors.IsNotFound(err):
		s.plan.After = cacheLag
	case err != nil:
		return fmt.Errorf("inquire: %w", err)
	}
	return s.wait()
}
