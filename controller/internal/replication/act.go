// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

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
	decide "github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/metrics"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// action is what Kopiur does in every event about a replication.
	action = "Replicate"
	// lookAgain is how soon something is looked at again that the cache has not seen yet.
	lookAgain = time.Second
	// settle is how soon a Job is looked at again that has not ended.
	settle = 10 * time.Second
)

// act does all writes but the status, which the patcher writes when this returns.
func (r *Reconciler) act(ctx context.Context, p *loop.Patcher, w decide.World, past []batchv1.Job, plan decide.Plan) (ctrl.Result, error) {
	after, err := r.let(ctx, w, past)
	if err != nil {
		return ctrl.Result{}, err
	}
	obj := w.Replication
	stored, generation := obj.Status.Conditions, obj.Status.ObservedGeneration
	obj.Status = plan.Status
	obj.Status.Conditions, obj.Status.ObservedGeneration = stored, generation
	if plan.Start != nil {
		if err := r.start(ctx, p, w, *plan.Start); err != nil {
			obj.Status.Job = nil
			obj.Status.Phase = kopiurv1.ReplicationPending
			if plan.Start.Manual {
				obj.Status.ManualRun.Phase = kopiurv1.RunPending
			}
			p.Carry(kopiurv1.ConditionVerified)
			return ctrl.Result{}, err
		}
	}
	if plan.Recorded {
		trigger, outcome := "schedule", "failed"
		if w.Turn.Manual {
			trigger = "manual"
		}
		if plan.Succeeded {
			outcome = "succeeded"
		}
		p.Count(metrics.ReplicationRuns.WithLabelValues("RepositoryReplication", trigger, outcome).Inc)
		logf.FromContext(ctx).Info("Recording a copy", "outcome", outcome)
	}
	held, err := r.prove(ctx, p, w, plan)
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, d := range []time.Duration{held, plan.After} {
		if d > 0 && (after == 0 || d < after) {
			after = d
		}
	}
	return say(p, plan, after)
}

// start makes the Job. Its name follows from the turn: one that was made and not recorded is found again.
func (r *Reconciler) start(ctx context.Context, p *loop.Patcher, w decide.World, t decide.Turn) error {
	cache, err := r.caches.KeepFor(ctx, r.Client, w.Replication, *w.Source, w.Replication.Spec.Mover, r.Clock.Now())
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	w.CacheClaim = cache.Claim
	job, err := decide.Build(w, t, r.MoverImage, r.PullPolicy)
	if err != nil {
		return loop.Stallf(kopiurv1.ReasonInvalidSpec, "%s", err)
	}
	name := job.Name
	r.starts.Lock()
	defer r.starts.Unlock()
	other, err := r.beside(ctx, w, name)
	if err != nil {
		return err
	}
	if other != "" {
		return loop.Waitf(settle, kopiurv1.ReasonReplicating, "%s, and nothing is started beside it", other)
	}
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
	if cache.Reason != "" {
		p.Emit(loop.Warning(cache.Reason, action, "%s", cache.Message))
	}
	logf.FromContext(ctx).Info("Copying", "repository", w.Source.Ref.String(), "job", name)
	return nil
}

// let lets go of the Jobs of earlier turns, whose outcome is in the stored status.
func (r *Reconciler) let(ctx context.Context, w decide.World, past []batchv1.Job) (time.Duration, error) {
	var after time.Duration
	for i := range past {
		job := &past[i]
		if job.Spec.TTLSecondsAfterFinished != nil {
			continue
		}
		if job.Labels[kopiurv1.LabelOperation] == verify.Operation {
			// It has restored something, and its volume goes with it.
			if err := moverjob.Reap(ctx, r.Client, job); err != nil {
				return 0, err //nolint:wrapcheck // says what it did
			}
			continue
		}
		if !moverjob.Over(job) {
			after = settle
			pods, err := moverjob.Pods(ctx, r.Client, job)
			if err != nil {
				return 0, err //nolint:wrapcheck // says what it did
			}
			if moverjob.Decide(job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now()).State == moverjob.Wedged {
				// It would go on some day, beside the next one.
				if err := moverjob.Reap(ctx, r.Client, job); err != nil {
					return 0, err //nolint:wrapcheck // says what it did
				}
			}
			continue
		}
		ttl := moverjob.DefaultTTL
		if w.Source != nil {
			ttl = moverjob.TTL(*w.Source, w.Replication.Spec.Mover)
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
		if plan.Reason == kopiurv1.ReasonReplicationFailed || plan.Reason == kopiurv1.ReasonNodeLost {
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
