// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

const (
	// action is what Kopiur does in every event about a Maintenance.
	action = "Maintain"
	// lookAgain is how soon something is looked at again that the cache has not seen yet.
	lookAgain = time.Second
	// settle is how soon a Job is looked at again whose pods have not ended.
	settle = 10 * time.Second
)

// act does all writes but the status, which the patcher writes when this returns.
func (r *Reconciler) act(ctx context.Context, p *loop.Patcher, w decide.World, past []batchv1.Job, plan decide.Plan) (ctrl.Result, error) {
	after, err := r.let(ctx, w, past)
	if err != nil {
		return ctrl.Result{}, err
	}
	if w.Job != nil && !plan.Recorded && w.Repository != nil && w.Repository.Status.UniqueID != "" {
		ours, err := r.renew(ctx, *w.Repository, w.Maintenance.UID, holder(w.Job))
		if err != nil {
			return ctrl.Result{}, err
		}
		if !ours {
			return ctrl.Result{}, r.giveWay(ctx, w.Job)
		}
	}
	obj := w.Maintenance
	stored, generation := obj.Status.Conditions, obj.Status.ObservedGeneration
	obj.Status = plan.Status
	obj.Status.Conditions, obj.Status.ObservedGeneration = stored, generation
	if plan.Start != nil {
		if err := r.start(ctx, p, w, plan); err != nil {
			obj.Status.Job = nil
			if plan.Start.Manual {
				obj.Status.ManualRun.Phase = kopiurv1.RunPending
			}
			p.Carry(kopiurv1.ConditionLeaseOwned)
			return ctrl.Result{}, err
		}
	}
	if plan.Recorded {
		count(p, w, plan)
		logf.FromContext(ctx).Info("Recording a run", "mode", w.Turn.Mode, "outcome", plan.Reason)
	}
	if plan.After > 0 && (after == 0 || plan.After < after) {
		after = plan.After
	}
	return say(p, plan, after)
}

func holder(job *batchv1.Job) string { return job.Namespace + "/" + job.Name }

// start takes the Lease of the store and makes the Job. Both names follow from the turn: what was made and not recorded is
// found again.
func (r *Reconciler) start(ctx context.Context, p *loop.Patcher, w decide.World, plan decide.Plan) error {
	cache, err := r.caches.KeepFor(ctx, r.Client, w.Maintenance, *w.Repository, w.Maintenance.Spec.Mover, r.Clock.Now())
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	w.CacheClaim = cache.Claim
	job, err := decide.Build(w, *plan.Start, r.Clock.Now(), r.MoverImage, r.PullPolicy)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if w.Repository.Projected != "" {
		v, err := projection.Ensure(ctx, r.Live, r.Client, *w.Repository, job.Namespace, r.Clock.Now())
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		if !v.Open {
			return loop.Wait{After: decide.Look, Reason: v.Reason, Message: v.Message}
		}
	}
	lease, other, err := r.acquire(ctx, *w.Repository, holder(job))
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if other != "" {
		return loop.Waitf(time.Minute, kopiurv1.ReasonMaintenanceWaiting, "the same store is being maintained by %s: two at a time could delete what the other needs", other)
	}
	name := job.Name
	err = moverjob.Ensure(ctx, r.Client, job)
	taken := errors.Is(err, moverjob.ErrNameTaken)
	if apierrors.IsNotFound(err) {
		if taken, err = moverjob.Taken(ctx, r.Live, job); err == nil && !taken {
			return loop.Waitf(lookAgain, kopiurv1.ReasonReconciling, "Job %s has just appeared", name)
		}
	}
	if taken {
		return loop.Stallf(kopiurv1.ReasonJobNameTaken, "Job %s belongs to another object: delete or rename it", name)
	}
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	ours, err := r.confirm(ctx, lease)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if !ours {
		return r.giveWay(ctx, job)
	}
	r.did(w.Maintenance.UID, r.Clock.Now())
	if cache.Reason != "" {
		p.Emit(loop.Warning(cache.Reason, action, "%s", cache.Message))
	}
	if w.User.Reason != "" {
		p.Emit(loop.Warning(w.User.Reason, action, "%s", w.User.Message))
	}
	logf.FromContext(ctx).Info("Maintaining", "repository", w.Repository.Ref.String(), "mode", plan.Start.Mode, "job", name)
	return nil
}

// giveWay takes a Job back whose store somebody else holds the Lease of.
func (r *Reconciler) giveWay(ctx context.Context, job *batchv1.Job) error {
	if err := moverjob.Reap(ctx, r.Client, job); err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	return loop.Waitf(time.Minute, kopiurv1.ReasonMaintenanceWaiting, "the same store is being maintained by another run: two at a time could delete what the other needs")
}

// let lets go of the Jobs of earlier turns, whose outcome is in the stored status: first of the Lease, once no pod of them
// is left, then of the Job.
func (r *Reconciler) let(ctx context.Context, w decide.World, past []batchv1.Job) (time.Duration, error) {
	var after time.Duration
	for i := range past {
		job := &past[i]
		if job.Spec.TTLSecondsAfterFinished != nil {
			continue
		}
		pods, err := podsOf(ctx, r.Client, job.Namespace, job.Name)
		if err != nil {
			return 0, err
		}
		if !moverjob.Over(job) {
			after = settle
			out := moverjob.Decide(job, pods, moverjob.StartupDeadline(w.Maintenance.Spec.FailurePolicy), r.ServerClock.Now())
			if out.State == moverjob.Wedged {
				// It would go on some day. Whoever wants the Lease next waits until its pods are gone.
				if err := moverjob.Reap(ctx, r.Client, job); err != nil {
					return 0, err //nolint:wrapcheck // says what it did
				}
			}
			continue
		}
		if alive(pods) {
			after = settle
			continue
		}
		ttl := moverjob.DefaultTTL
		if repo := w.Repository; repo != nil {
			ttl = moverjob.TTL(*repo, w.Maintenance.Spec.Mover)
			if repo.Status.UniqueID != "" {
				if err := r.release(ctx, *repo, w.Maintenance.UID, holder(job)); err != nil {
					return 0, err
				}
			}
		}
		if err := moverjob.Retire(ctx, r.Client, r.Writes, job, ttl); err != nil {
			return 0, err //nolint:wrapcheck // says what it did
		}
	}
	return after, nil
}

// say puts the plan's findings into conditions and events.
func say(p *loop.Patcher, plan decide.Plan, after time.Duration) (ctrl.Result, error) {
	for _, c := range plan.Conditions {
		if c.Status == "True" {
			p.Conditions.True(c.Type, c.Reason, "%s", c.Message)
			continue
		}
		p.Conditions.False(c.Type, c.Reason, "%s", c.Message)
		p.EmitChange(c.Type, loop.Warning(c.Reason, action, "%s", c.Message))
	}
	switch plan.Verdict {
	case decide.Stalled:
		p.Stalled(plan.Reason, "%s", plan.Message)
		p.EmitChange(kopiurv1.ConditionReady, loop.Warning(plan.Reason, action, "%s", plan.Message))
	case decide.Progressing:
		p.Progressing(plan.Reason, "%s", plan.Message)
		if plan.Reason == kopiurv1.ReasonMaintenanceFailed || plan.Reason == kopiurv1.ReasonNodeLost {
			p.EmitChange(kopiurv1.ConditionReady, loop.Warning(plan.Reason, action, "%s", plan.Message))
		}
	case decide.Ready:
		p.Ready(plan.Reason, "%s", plan.Message)
		p.EmitChange(kopiurv1.ConditionReady, loop.Normal(plan.Reason, action, "%s", plan.Message))
	}
	if after == 0 {
		after = loop.StallHeartbeat
	}
	return ctrl.Result{RequeueAfter: after}, nil
}
