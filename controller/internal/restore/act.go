// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// lookTimeout bounds the last look before a mover starts: all other starts wait for it.
const lookTimeout = 10 * time.Second

// lookAgain is how soon an object is looked at that the cache has not seen yet.
const lookAgain = time.Second

type scope struct {
	patcher *loop.Patcher
	obj     *kopiurv1.Restore
	plan    decide.Plan
	// repository is read from; nil where it is not known.
	repository *moverjob.Repository
	// claims are the records of a populator's claims as they were read.
	claims map[string]kopiurv1.RestoreClaim
}

// act carries the plan out. Every step finds its own work done when it is repeated.
func (r *Reconciler) act(ctx context.Context, p *loop.Patcher, obj *kopiurv1.Restore, w decide.World, plan decide.Plan) (ctrl.Result, error) {
	s := &scope{patcher: p, obj: obj, plan: plan, repository: w.Repository}
	stored := obj.Status.Conditions
	s.claims = obj.Status.Claims
	obj.Status = *plan.Status.DeepCopy()
	obj.Status.Conditions = stored
	if decide.Populates(obj) {
		return r.actOnClaims(ctx, s, w)
	}
	if err := loop.Run(ctx, s,
		loop.Step("let the recorded job go", r.retire),
		loop.Step("delete the job that was given up", r.reap),
		loop.Step("record the attempt", recordIntent), // before anything that only the attempt's name leads back to
		loop.Step("copy the credentials", r.project),  // before the claim: an empty one looks like one that was restored
		loop.Step("make the claim", r.ensureClaim),
		loop.Step("start the mover", r.ensureJob),
	); err != nil {
		return ctrl.Result{}, err
	}
	return report(s)
}

func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if err := r.streams.Withdraw(ctx, s.plan.Retire); err != nil {
		return err //nolint:wrapcheck // the step says so
	}
	return moverjob.Retire(ctx, r.Client, r.Writes, s.plan.Retire, s.plan.TTL) //nolint:wrapcheck // the step says so
}

func (r *Reconciler) reap(ctx context.Context, s *scope) error {
	if err := r.streams.Withdraw(ctx, s.plan.Reap); err != nil {
		return err //nolint:wrapcheck // the step says so
	}
	return moverjob.Reap(ctx, r.Client, s.plan.Reap) //nolint:wrapcheck // the step says so
}

func recordIntent(ctx context.Context, s *scope) error {
	if !s.plan.Intent {
		return nil
	}
	return s.patcher.Write(ctx) //nolint:wrapcheck // the step says so
}

// project copies the credentials that the Job mounts. Where that is refused nothing is made, and the plan says so.
func (r *Reconciler) project(ctx context.Context, s *scope) error {
	if s.plan.Job == nil {
		return nil
	}
	v, err := projection.Before(ctx, r.Live, r.Client, s.repository, s.obj.Namespace, r.Clock.Now())
	if err == nil && !v.Open {
		s.plan.Withhold(v)
	}
	return err //nolint:wrapcheck // the step says so
}

func (r *Reconciler) ensureClaim(ctx context.Context, s *scope) error {
	if s.plan.Claim == nil {
		return nil
	}
	err := r.Client.Create(ctx, s.plan.Claim)
	if apierrors.IsAlreadyExists(err) {
		// Ours or somebody else's: the next look decides, not this one.
		return loop.Waitf(lookAgain, kopiurv1.ReasonReconciling, "claim %s has just appeared", s.plan.Claim.Name)
	}
	if err != nil {
		return fmt.Errorf("create claim %s/%s: %w", s.plan.Claim.Namespace, s.plan.Claim.Name, err)
	}
	return nil
}

func (r *Reconciler) ensureJob(ctx context.Context, s *scope) error {
	if s.plan.Job == nil {
		return nil
	}
	if s.plan.Job.Labels[kopiurv1.LabelOperation] == operation {
		r.starting.Lock()
		defer r.starting.Unlock()
		if err := r.soleWriter(ctx, s); err != nil {
			return err
		}
	}
	if v, err := r.streams.Grant(ctx, s.plan.Job); err != nil {
		return err //nolint:wrapcheck // the step says so
	} else if !v.Open {
		return loop.Stallf(v.Reason, "%s", v.Message)
	}
	err := moverjob.Ensure(ctx, r.Client, s.plan.Job)
	taken := errors.Is(err, moverjob.ErrNameTaken)
	if apierrors.IsNotFound(err) {
		if taken, err = moverjob.Taken(ctx, r.Live, s.plan.Job); err == nil && !taken {
			return loop.Waitf(lookAgain, kopiurv1.ReasonReconciling, "Job %s has just appeared", s.plan.Job.Name)
		}
	}
	if taken {
		return loop.Stallf(kopiurv1.ReasonJobNameTaken, "Job %s belongs to another object: delete it, or give this Restore another name", s.plan.Job.Name)
	}
	return err //nolint:wrapcheck // the step says so
}

// soleWriter looks once more for Jobs of other Restores in the claim, past the cache: Restores that one event woke were
// all decided before any of their Jobs was seen. Only the leader creates Jobs, so its lock is enough.
func (r *Reconciler) soleWriter(ctx context.Context, s *scope) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, v := range s.plan.Job.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ReadOnly || v.Name != moverjob.TargetVolume {
			continue
		}
		claim := v.PersistentVolumeClaim.ClaimName
		writers, err := writersOf(ctx, r.Live, s.obj, claim)
		if err != nil {
			return err
		}
		if len(writers) > 0 {
			return loop.Waitf(lookAgain, kopiurv1.ReasonPVCInUse, "claim %s is being restored into by another Restore (%s); this one starts when that has ended", claim, strings.Join(writers, ", "))
		}
	}
	return nil
}

// report turns the plan's findings into conditions and events, and its state into the reconcile's end.
func report(s *scope) (ctrl.Result, error) {
	p, plan := s.patcher, s.plan
	if plan.Keep {
		p.Keep()
	}
	p.Carry(plan.Carry...)
	for _, c := range plan.Conditions {
		switch c.Status {
		case metav1.ConditionTrue:
			p.Conditions.True(c.Type, c.Reason, "%s", c.Message)
		case metav1.ConditionFalse:
			p.Conditions.False(c.Type, c.Reason, "%s", c.Message)
		default:
			p.Conditions.Unknown(c.Type, c.Reason, "%s", c.Message)
		}
	}
	emit(p, plan)
	switch {
	case plan.Keep && plan.State == decide.Stalled:
		return ctrl.Result{RequeueAfter: loop.StallHeartbeat}, nil
	case plan.Keep:
		return ctrl.Result{}, nil
	case plan.State == decide.Ready:
		return ctrl.Result{RequeueAfter: plan.After}, nil
	case plan.State == decide.Stalled:
		return ctrl.Result{}, loop.Stall{After: plan.After, Reason: plan.Reason, Message: plan.Message}
	default:
		return ctrl.Result{}, loop.Wait{After: plan.After, Reason: plan.Reason, Message: plan.Message}
	}
}
