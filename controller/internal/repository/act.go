// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// scope is what the steps of one act work on.
type scope struct {
	s    subject
	w    world
	plan connect.Plan
	// cache of the look that was started.
	cache keptcache.Verdict
}

// act does all writes but the status, which the patcher writes when this returns.
func (r *Reconciler) act(ctx context.Context, p *loop.Patcher, s subject, w world, plan connect.Plan) (ctrl.Result, error) {
	sc := &scope{s: s, w: w, plan: plan}
	err := loop.Run(ctx, sc,
		loop.Step("retire the recorded job", r.retire),
		loop.Step("clear older jobs", r.clear),
		loop.Step("start the connect job", r.start),
		loop.Step("show what was found", func(ctx context.Context, sc *scope) error { return r.catalog(ctx, p, sc) }),
	)
	if err != nil {
		if errors.Is(err, moverjob.ErrNameTaken) {
			return ctrl.Result{}, taken(p, s, s.jobName(w.input.Creds.Version, plan.Status.Job.Attempts))
		}
		return ctrl.Result{}, err
	}
	say(p, s, sc.plan)
	announce(p, s, sc.plan)
	if v := sc.cache; v.Reason != "" {
		p.Emit(loop.Warning(v.Reason, action, "%s", v.Message))
	}
	if sc.plan.Tripped {
		p.Count(breakerTrips.WithLabelValues(labels(s.repo.Ref)...).Inc)
	}
	if sc.plan.Status.Phase != w.input.Status.Phase {
		logf.FromContext(ctx).Info("Changing phase", "phase", sc.plan.Status.Phase, "reason", sc.plan.Reason)
	}
	return ctrl.Result{RequeueAfter: sc.plan.After}, nil
}

// taken parks a repository whose Job cannot be made because another object has its name.
func taken(p *loop.Patcher, s subject, name string) error {
	stall := loop.Stallf(kopiurv1.ReasonJobNameTaken,
		"Job %s/%s belongs to another object: delete or rename it", s.repo.HomeNamespace, name)
	s.status.Phase = kopiurv1.RepositoryFailed
	if was := p.Was(kopiurv1.ConditionReady); was == nil || was.Reason != stall.Reason {
		p.Emit(loop.Warning(stall.Reason, action, "%s", stall.Message))
	}
	return stall
}

// retire lets the Job whose outcome is in the stored status go after its time to live. The status that says so was read
// from the API server, so it cannot get lost any more.
func (r *Reconciler) retire(ctx context.Context, sc *scope) error {
	job := sc.w.current
	if job == nil {
		return nil
	}
	f := sc.s.repo.Status.Failure
	if f != nil && (f.KopiaErrorClass == kopiurv1.ReasonMoverPodWedged || f.KopiaErrorClass == kopiurv1.ReasonNodeLost) && !over(job) {
		// It would go on some day, beside the attempt after it.
		return moverjob.Reap(ctx, r.Client, job) //nolint:wrapcheck // says what it did
	}
	return moverjob.Retire(ctx, r.Client, r.Writes, job, moverjob.TTL(sc.s.repo)) //nolint:wrapcheck // says what it did
}

// clear removes Jobs of older attempts. A running one was made from other settings: its outcome says nothing about the
// present ones, and two must not run at once. An ended one has nothing to tell any more, and a night of failed probes
// leaves one dead Job, not fifty (acceptance C-1).
func (r *Reconciler) clear(ctx context.Context, sc *scope) error {
	for _, job := range sc.w.strays {
		if !over(job) && sc.s.repo.Spec.Suspend && !sc.plan.Start {
			continue // it ends by itself
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	return nil
}

// start creates the Job. Its name derives from what it was made from, so that one that was created and not recorded is
// found again.
func (r *Reconciler) start(ctx context.Context, sc *scope) error {
	if !sc.plan.Start {
		return nil
	}
	n := sc.plan.Status.Job.Attempts
	req := sc.w.request
	req.Attempt = sc.s.attempt(sc.w.input.Creds.Version, n)
	req.Operation.Bootstrap.Catalog = sc.plan.List
	req.FailurePolicy = &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: &sc.plan.DeadlineSeconds}
	if b := sc.s.repo.Spec.Bootstrap; sc.plan.Probe {
		req.FailurePolicy.BackoffLimit = new(int32(0))
	} else if b != nil && b.FailurePolicy != nil {
		req.FailurePolicy.BackoffLimit = b.FailurePolicy.BackoffLimit
	}
	if err := r.keepCache(ctx, sc, &req); err != nil {
		return fmt.Errorf("attempt %d: %w", n, err)
	}
	job, err := moverjob.Build(req)
	if err != nil {
		return fmt.Errorf("attempt %d: %w", n, err)
	}
	err = moverjob.Ensure(ctx, r.Client, job)
	if apierrors.IsNotFound(err) {
		err = r.ensureOurs(ctx, job)
	}
	if err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	sc.plan.Status.Job.Name = job.Name
	sc.w.listing.job, sc.w.listing.token = job.Name, sc.w.input.Listing.Token
	return nil
}

// keepCache lets a look use what earlier ones have fetched, where moverDefaults.cache is kept: with a cold cache a connect
// takes as long as the index is large (acceptance C-3).
func (r *Reconciler) keepCache(ctx context.Context, sc *scope, req *moverjob.Request) error {
	c := moverjob.KeepsCache(sc.s.repo)
	if c == nil {
		return nil
	}
	v, err := r.caches.Keep(ctx, r.Client, keptcache.OfRepository(sc.s.obj, r.kind.gvk(), sc.s.repo, *c), sc.s.obj.GetUID(), r.Clock.Now())
	if err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	req.CacheClaim, sc.cache = v.Claim, v
	return nil
}

// ensureOurs looks live at a Job that exists and is not in the cache: made by us a moment ago, or by somebody else.
func (r *Reconciler) ensureOurs(ctx context.Context, job *batchv1.Job) error {
	var have batchv1.Job
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(job), &have); err != nil {
		return fmt.Errorf("get job %s: %w", job.Name, err)
	}
	want, got := metav1.GetControllerOf(job), metav1.GetControllerOf(&have)
	if got == nil || got.UID != want.UID {
		return fmt.Errorf("job %s: %w", job.Name, moverjob.ErrNameTaken)
	}
	return nil
}

func over(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return true
		}
	}
	return false
}
