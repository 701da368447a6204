// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/seed"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// seeding is one look at a repository that is not filled yet.
type seeding struct {
	in      seed.Input
	request moverjob.Request
	jobs    []batchv1.Job
	flying  *batchv1.Job
}

// seed fills a new repository. Until that has ended nothing connects to it.
func (r *Reconciler) seed(ctx context.Context, p *loop.Patcher, s subject) (ctrl.Result, error) {
	w, err := r.observeSeed(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := seed.Decide(w.in, r.Clock.Now())
	if err := r.clearSeeds(ctx, s, w); err != nil {
		return ctrl.Result{}, err
	}
	if plan.Start {
		if v, err := projection.Before(ctx, r.Live, r.Client, w.in.Source, s.repo.HomeNamespace, r.Clock.Now()); err != nil {
			return ctrl.Result{}, err //nolint:wrapcheck // says what it did
		} else if !v.Open {
			return ctrl.Result{}, loop.Waitf(0, v.Reason, "%s", v.Message)
		}
		if err := r.startSeed(ctx, p, s, w, &plan); err != nil {
			return ctrl.Result{}, err
		}
	}
	say(p, s, plan)
	announceSeed(p, plan)
	if c := p.Conditions.Get(kopiurv1.ConditionSeeded); c.Status == metav1.ConditionTrue {
		p.Count(seeds.WithLabelValues(string(plan.Status.Seed.Mode), c.Reason).Inc)
	}
	return ctrl.Result{RequeueAfter: plan.After}, nil
}

// announceSeed publishes what changed.
func announceSeed(p *loop.Patcher, plan connect.Plan) {
	c := p.Conditions.Get(kopiurv1.ConditionSeeded)
	switch {
	case c.Status == metav1.ConditionTrue:
		p.Emit(loop.Normal(kopiurv1.ReasonRepositorySeeded, actionSeed, "%s", c.Message))
	case c.Reason == kopiurv1.ReasonSeeding:
		p.EmitChange(kopiurv1.ConditionSeeded, loop.Normal(c.Reason, actionSeed, "%s", c.Message))
	case c.Reason != "":
		message := c.Message
		if f := plan.Status.Failure; f != nil && plan.Note != "" {
			message += ". The mover said: " + plan.Note
		}
		p.EmitChange(kopiurv1.ConditionSeeded, loop.Warning(c.Reason, actionSeed, "%s", message))
	}
}

// actionSeed is what Kopiur does in events about seeds.
const actionSeed = "Seed"

// startSeed marks the seed as begun, and makes its Job.
func (r *Reconciler) startSeed(ctx context.Context, p *loop.Patcher, s subject, w seeding, plan *connect.Plan) error {
	req := w.request
	req.Attempt = s.attempt(seed.Version(w.in), plan.Status.Job.Attempts)
	job, err := moverjob.Build(req)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	plan.Status.Job.Name = job.Name
	s.status.Seed, s.status.Job, s.status.Phase, s.status.Backend = plan.Status.Seed, plan.Status.Job, plan.Status.Phase, plan.Status.Backend
	if err := p.Write(ctx); err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	err = moverjob.Ensure(ctx, r.Client, job)
	if apierrors.IsNotFound(err) {
		err = r.ensureOurs(ctx, job)
	}
	if errors.Is(err, moverjob.ErrNameTaken) {
		return taken(p, s, job.Name)
	}
	return err //nolint:wrapcheck // says what it did
}

// observeSeed reads both sides and the Jobs.
func (r *Reconciler) observeSeed(ctx context.Context, s subject) (seeding, error) {
	home, spec := s.repo.HomeNamespace, s.repo.Spec
	w := seeding{in: seed.Input{
		Spec: spec, Status: s.repo.Status, Repository: s.repo.Ref, Refusal: validation.Guard(s.obj),
		Permitted: gates.Verdict{Open: true}, SourceVolume: gates.Verdict{Open: true},
	}}
	in := &w.in
	var err error
	if in.Creds, err = gates.CheckCredentials(ctx, r.Client, s.repo, home); err != nil {
		return w, fmt.Errorf("observe: %w", err)
	}
	if in.Volume, err = gates.CheckVolume(ctx, r.Client, s.repo, home); err != nil {
		return w, fmt.Errorf("observe: %w", err)
	}
	if err := r.observeSeedSource(ctx, s, in); err != nil {
		return w, err
	}
	w.request = moverjob.Request{
		Owner: s.obj, GVK: r.kind.gvk(), Letter: letter, Attempt: "0", Namespace: home,
		Image: r.MoverImage, PullPolicy: r.PullPolicy, Repository: s.repo,
	}
	seed.Fill(&w.request, in.Source)
	if err := r.observeSeedPrivileges(ctx, s, &w); err != nil {
		return w, err
	}
	err = r.observeSeedJobs(ctx, s, &w)
	return w, err
}

// observeSeedSource reads the source, as it is mounted at the new repository's home. A store without an object has no
// password of its own.
func (r *Reconciler) observeSeedSource(ctx context.Context, s subject, in *seed.Input) error {
	home, from := s.repo.HomeNamespace, s.repo.Spec.Seed.From
	var err error
	if b := from.Backend; b != nil {
		store := moverjob.Repository{Ref: s.repo.Ref, HomeNamespace: home, Spec: kopiurv1.RepositorySpec{Backend: *b, Encryption: s.repo.Spec.Encryption}}
		if in.SourceCreds, err = gates.CheckCredentials(ctx, r.Client, store, home); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		in.SourceVolume, err = gates.CheckVolume(ctx, r.Client, store, home)
		return err //nolint:wrapcheck // says what and where
	}
	if from.Repository == nil {
		return nil // refused
	}
	repo, err := moverjob.Load(ctx, r.Client, from.Repository.In(s.repo.Ref.Namespace), r.OperatorNamespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	in.Source = &repo
	if s.repo.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		in.SourceCreds, err = projection.Check(ctx, r.Client, &repo, home, s.repo.Spec.Seed.CredentialProjection, r.Projection)
	} else {
		in.SourceCreds, err = projection.CheckAllowed(ctx, r.Client, r.Live, &repo, home, s.repo.Spec.Seed.CredentialProjection, r.Projection)
	}
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	in.SourceVolume, err = gates.CheckVolume(ctx, r.Client, repo, home)
	return err //nolint:wrapcheck // says what and where
}

func (r *Reconciler) observeSeedPrivileges(ctx context.Context, s subject, w *seeding) error {
	if w.in.Refusal.Refused() || w.request.Peer == nil || w.in.Source == nil && s.repo.Spec.Seed.From.Backend == nil {
		return nil
	}
	job, err := moverjob.Build(w.request)
	if err != nil {
		w.in.Refusal = validation.Refusal{Reason: kopiurv1.ReasonInvalidSpec, Message: err.Error()}
		return nil //nolint:nilerr // it is a fact about the spec
	}
	pod := job.Spec.Template.Spec
	if w.in.Permitted = gates.Privileges(pod, s.repo.HomeNamespace, nil); w.in.Permitted.Open {
		return nil
	}
	ns, err := gates.Namespace(ctx, r.Live, s.repo.HomeNamespace)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("observe: %w", err)
	}
	if err == nil {
		w.in.Permitted = gates.Privileges(pod, s.repo.HomeNamespace, ns.Annotations)
	}
	return nil
}

// observeSeedJobs finds the attempt in flight, and whoever is left of earlier ones.
func (r *Reconciler) observeSeedJobs(ctx context.Context, s subject, w *seeding) error {
	ours := client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.obj.GetUID()), kopiurv1.LabelOperation: seed.Operation}
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, ours); err != nil {
		return fmt.Errorf("list seeding jobs: %w", err)
	}
	w.jobs = jobs.Items
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, ours); err != nil {
		return fmt.Errorf("list the pods of seeding jobs: %w", err)
	}
	last := w.in.Status.Job
	if last == nil {
		last = &kopiurv1.ConnectJob{}
	}
	name := func(n int32) string {
		return moverjob.Name(letter, s.obj.GetName(), s.obj.GetUID(), seed.Operation, s.attempt(seed.Version(w.in), n))
	}
	w.in.SameInputs = last.Name != "" && last.Name == name(last.Attempts)
	if w.in.SameInputs && last.FinishedAt == "" {
		var job batchv1.Job
		// Past the cache, which may be behind our own write: a second mover beside the first is what must not be.
		switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.repo.HomeNamespace, Name: last.Name}, &job); {
		case err == nil:
			w.flying = &job
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("get job %s: %w", last.Name, err)
		}
		outcome := moverjob.Outcome{State: moverjob.Absent, Terminal: true}
		if w.flying != nil {
			evidence, err := moverjob.Evidence(ctx, r.Client, r.Live, w.flying)
			if err != nil {
				return fmt.Errorf("observe: %w", err)
			}
			outcome = moverjob.Decide(w.flying, evidence, moverjob.StartupDeadline(s.repo.Spec.Seed.FailurePolicy), r.ServerClock.Now())
		}
		w.in.Flight = &connect.Flight{Name: last.Name, Attempt: last.Attempts, Outcome: outcome}
		return nil
	}
	for i := range w.jobs {
		if !over(&w.jobs[i]) {
			w.in.Lingering = "Job " + w.jobs[i].Namespace + "/" + w.jobs[i].Name
		}
	}
	for i := range pods.Items {
		if ph := pods.Items[i].Status.Phase; ph != corev1.PodSucceeded && ph != corev1.PodFailed {
			w.in.Lingering = "pod " + pods.Items[i].Namespace + "/" + pods.Items[i].Name
		}
	}
	return nil
}

// clearSeeds removes the Jobs of attempts that are recorded, or were made from other settings.
func (r *Reconciler) clearSeeds(ctx context.Context, s subject, w seeding) error {
	for i := range w.jobs {
		job := &w.jobs[i]
		if w.flying != nil && job.UID == w.flying.UID || job.DeletionTimestamp != nil {
			continue
		}
		if over(job) {
			if err := moverjob.Retire(ctx, r.Client, r.Writes, job, moverjob.TTL(s.repo)); err != nil {
				return err //nolint:wrapcheck // says what it did
			}
			continue
		}
		if last, f := w.in.Status.Job, w.in.Status.Failure; last != nil && last.Name == job.Name && last.FinishedAt != "" && (f == nil || f.KopiaErrorClass != kopiurv1.ReasonMoverPodWedged) {
			continue // its pod has ended, and it does so a moment later
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	return nil
}

// seeded lets the Job of a seed go that has ended.
func (r *Reconciler) seeded(ctx context.Context, s subject) error {
	if s.repo.Status.Seed == nil {
		return nil
	}
	var jobs batchv1.JobList
	ours := client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.obj.GetUID()), kopiurv1.LabelOperation: seed.Operation}
	if err := r.Client.List(ctx, &jobs, ours); err != nil {
		return fmt.Errorf("list seeding jobs: %w", err)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		switch done := s.repo.Status.Seed.SeededAt != ""; {
		case over(job):
			if err := moverjob.Retire(ctx, r.Client, r.Writes, job, moverjob.TTL(s.repo)); err != nil {
				return err //nolint:wrapcheck // says what it did
			}
		case !done:
			// spec.seed was taken back while it ran.
			if err := moverjob.Reap(ctx, r.Client, job); err != nil {
				return err //nolint:wrapcheck // says what it did
			}
		}
	}
	return nil
}
