// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/metrics"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// action is what all events of this reconciler are about.
const action = "Replicate"

// lookAgain is how soon an object is looked at that the cache has not seen yet.
const lookAgain = time.Second

// settle is how soon to look again whether a pod without a Job has ended.
const settle = 10 * time.Second

// act carries the plan out. Every step finds its own work done when it is repeated.
func (r *Reconciler) act(ctx context.Context, p *loop.Patcher, w decide.World, g *gathered, plan decide.Plan) (ctrl.Result, error) {
	o := w.Replication
	stored, generation := o.Status.Conditions, o.Status.ObservedGeneration
	before := *o.Status.DeepCopy()
	o.Status = *plan.Status.DeepCopy()
	o.Status.Conditions, o.Status.ObservedGeneration = stored, generation
	if err := r.tidy(ctx, w, before); err != nil {
		return ctrl.Result{}, err
	}
	switch plan.Action {
	case decide.Start:
		if v, err := r.project(ctx, w); err != nil {
			return ctrl.Result{}, err
		} else if !v.Open {
			o.Status = before
			p.Conditions.False(kopiurv1.ConditionCredentialsAvailable, v.Reason, "%s", v.Message)
			return ctrl.Result{}, loop.Waitf(time.Minute, v.Reason, "%s", v.Message)
		}
		pod, err := moverjob.Outliving(ctx, r.Live, o.Namespace, o.UID, decide.Operation, w.Job)
		if err != nil {
			return ctrl.Result{}, err //nolint:wrapcheck // says what it did
		}
		if pod != nil {
			o.Status = before
			p.Carry(plan.Carry...)
			return ctrl.Result{}, loop.Waitf(settle, kopiurv1.ReasonReplicating,
				"pod %s/%s of an earlier run has not ended yet, and nothing is started beside it", pod.Namespace, pod.Name)
		}
		if err := r.keepCache(ctx, p, w, &plan); err != nil {
			return ctrl.Result{}, err
		}
		// The run is in the status before its Job is there: whoever finds the one finds the other.
		if err := p.Write(ctx); err != nil {
			return ctrl.Result{}, err //nolint:wrapcheck // says what it did
		}
		if err := r.ensureJob(ctx, plan.Job); err != nil {
			return ctrl.Result{}, err
		}
	case decide.Rows:
		if err := r.makeRows(ctx, w, g); err != nil {
			return ctrl.Result{}, err
		}
	case decide.Prune:
		if err := r.pruneCopies(ctx, w, g); err != nil {
			return ctrl.Result{}, err
		}
	case decide.Rest:
	}
	return r.report(p, plan), nil
}

// keepCache gives the Job the cache that is kept from one run to the next, where one is wished for.
func (r *Reconciler) keepCache(ctx context.Context, p *loop.Patcher, w decide.World, plan *decide.Plan) error {
	o := w.Replication
	v, err := r.caches.KeepFor(ctx, r.Client, o, *w.Source, o.Spec.Mover, r.Clock.Now())
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if v.Reason != "" {
		p.Emit(loop.Warning(v.Reason, action, "%s", v.Message))
	}
	if v.Claim == "" {
		return nil
	}
	w.CacheClaim = v.Claim
	if plan.Job, err = decide.Build(w, *plan.Status.Run); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

// project copies the credentials that the Job mounts.
func (r *Reconciler) project(ctx context.Context, w decide.World) (gates.Verdict, error) {
	for _, repo := range []*moverjob.Repository{w.Source, w.Destination} {
		v, err := projection.Before(ctx, r.Live, r.Client, repo, w.Replication.Namespace, r.Clock.Now())
		if err != nil || !v.Open {
			return v, err //nolint:wrapcheck // says what it did
		}
	}
	return gates.Verdict{Open: true}, nil
}

func (r *Reconciler) ensureJob(ctx context.Context, job *batchv1.Job) error {
	err := moverjob.Ensure(ctx, r.Client, job)
	taken := errors.Is(err, moverjob.ErrNameTaken)
	if apierrors.IsNotFound(err) {
		if taken, err = moverjob.Taken(ctx, r.Live, job); err == nil && !taken {
			return loop.Waitf(lookAgain, kopiurv1.ReasonReconciling, "Job %s has just appeared", job.Name)
		}
	}
	if taken {
		return loop.Stallf(kopiurv1.ReasonJobNameTaken, "Job %s belongs to another object: delete or rename it", job.Name)
	}
	return err //nolint:wrapcheck // says what it did
}

// tidy lets the Jobs go that no run expects any more. What they told is in the stored status, or is told again.
func (r *Reconciler) tidy(ctx context.Context, w decide.World, before kopiurv1.SnapshotReplicationStatus) error {
	o := w.Replication
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.InNamespace(o.Namespace), client.MatchingLabels{
		kopiurv1.LabelOperation: decide.Operation, kopiurv1.LabelOwnerUID: string(o.UID),
	}); err != nil {
		return fmt.Errorf("list the Jobs of replication %s/%s: %w", o.Namespace, o.Name, err)
	}
	ttl := moverjob.DefaultTTL
	if w.Source != nil {
		ttl = moverjob.TTL(*w.Source, o.Spec.Mover)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if before.Run != nil && job.Name == decide.JobName(o, *before.Run) || job.DeletionTimestamp != nil {
			continue
		}
		if moverjob.Over(job) {
			if err := moverjob.Retire(ctx, r.Client, r.Writes, job, ttl); err != nil {
				return err //nolint:wrapcheck // says what it did
			}
			continue
		}
		if last := before.Job; last != nil && last.Name == job.Name && before.Failure == nil {
			continue // it is about to end by itself, a moment after its pod
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	return nil
}

// report turns the plan's findings into conditions and events.
func (r *Reconciler) report(p *loop.Patcher, plan decide.Plan) ctrl.Result {
	p.Carry(plan.Carry...)
	for _, c := range plan.Conditions {
		if c.True {
			p.Conditions.True(c.Type, c.Reason, "%s", c.Message)
		} else {
			p.Conditions.False(c.Type, c.Reason, "%s", c.Message)
		}
		// An overlap is bad where there is one, everything else where it is missing.
		if c.True == (c.Type == kopiurv1.ConditionIdentityOverlap) {
			p.EmitChange(c.Type, loop.Warning(c.Reason, action, "%s", c.Message))
		}
	}
	switch plan.State {
	case decide.Ready:
		p.Ready(plan.Reason, "%s", plan.Message)
	case decide.Stalled:
		p.Stalled(plan.Reason, "%s", plan.Message)
		if plan.Ended == "" {
			p.EmitChange(kopiurv1.ConditionStalled, loop.Warning(plan.Reason, action, "%s", plan.Message))
		}
	case decide.Progressing:
		p.Progressing(plan.Reason, "%s", plan.Message)
	}
	if plan.Suspended {
		p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "no run is started until spec.suspend is false")
	}
	for _, n := range plan.Notes {
		if n.Warning {
			p.Emit(loop.Warning(n.Reason, action, "%s", n.Message))
		} else {
			p.Emit(loop.Normal(n.Reason, action, "%s", n.Message))
		}
	}
	if plan.Ended != "" {
		p.Count(metrics.ReplicationRuns.WithLabelValues("SnapshotReplication", string(plan.Trigger), plan.Ended).Inc)
	}
	return ctrl.Result{RequeueAfter: plan.After}
}
