// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// world is all that was read of one repository.
type world struct {
	input connect.Input
	// template is the Job of the next attempt but for what the plan decides; nil where the spec does not allow one.
	request moverjob.Request
	// current is the Job of the last attempt, if it is still there.
	current *batchv1.Job
	// flying is the Job of the attempt in flight.
	flying *batchv1.Job
	// strays are Jobs of older attempts.
	strays []*batchv1.Job
	// listing of the repository, as far as it has come.
	listing *listing
}

// observe reads everything.
func (r *Reconciler) observe(ctx context.Context, s subject) (world, error) {
	home := s.repo.HomeNamespace
	w := world{input: connect.Input{
		Spec: s.repo.Spec, Status: s.repo.Status, Generation: s.obj.GetGeneration(),
		ReverifyAt: s.obj.GetAnnotations()[kopiurv1.AnnotationReverifyRequestedAt],
		Permitted:  gates.Verdict{Open: true},
	}}
	var err error
	if w.input.Creds, err = gates.CheckCredentials(ctx, r.Client, s.repo, home); err != nil {
		return world{}, fmt.Errorf("observe: %w", err)
	}
	if w.input.Volume, err = gates.CheckVolume(ctx, r.Client, s.repo, home); err != nil {
		return world{}, fmt.Errorf("observe: %w", err)
	}
	w.request = r.request(s)
	if err := r.observePrivileges(ctx, s, &w); err != nil {
		return world{}, err
	}
	if err := r.observeJobs(ctx, s, &w); err != nil {
		return world{}, err
	}
	if w.input.OthersSucceededAt, err = r.othersSucceeded(ctx, s); err != nil {
		return world{}, err
	}
	if err := r.observeListing(ctx, s, &w); err != nil {
		return world{}, err
	}
	return w, nil
}

// request is the next attempt but for its number and deadline.
func (r *Reconciler) request(s subject) moverjob.Request {
	return moverjob.Request{
		Owner: s.obj, GVK: r.kind.gvk(), Letter: letter, Attempt: "0", Namespace: s.repo.HomeNamespace,
		Image: r.MoverImage, PullPolicy: r.PullPolicy, Repository: s.repo,
		Operation: work.Operation{Bootstrap: new(connect.Operation(s.repo.Spec, s.repo.Status))},
	}
}

// observePrivileges builds the Job once to see whether it can be, and what it asks for. The Namespace is read, live, only
// when there is something to permit.
func (r *Reconciler) observePrivileges(ctx context.Context, s subject, w *world) error {
	if w.input.Refusal = validation.Guard(s.obj); w.input.Refusal.Refused() {
		return nil
	}
	job, err := moverjob.Build(w.request)
	if err != nil {
		w.input.Refusal = validation.Refusal{Reason: kopiurv1.ReasonInvalidSpec, Message: err.Error()}
		return nil //nolint:nilerr // it is a fact about the spec
	}
	pod := job.Spec.Template.Spec
	if w.input.Permitted = gates.Privileges(pod, s.repo.HomeNamespace, nil); w.input.Permitted.Open {
		return nil
	}
	ns, err := gates.Namespace(ctx, r.Live, s.repo.HomeNamespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("observe: %w", err)
	}
	w.input.Permitted = gates.Privileges(pod, s.repo.HomeNamespace, ns.Annotations)
	return nil
}

// observeJobs sorts this repository's Jobs: the one in flight for the present inputs, the recorded one, and strays.
func (r *Reconciler) observeJobs(ctx context.Context, s subject, w *world) error {
	ours := client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.obj.GetUID()), kopiurv1.LabelOperation: bootstrap}
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, ours); err != nil {
		return fmt.Errorf("list connect jobs: %w", err)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, ours); err != nil {
		return fmt.Errorf("list the pods of connect jobs: %w", err)
	}
	last := w.input.Status.Job
	if last == nil {
		last = &kopiurv1.ConnectJob{}
	}
	creds := w.input.Creds
	next := s.jobName(creds.Version, last.Attempts+1)
	w.input.SameInputs = creds.Open && last.Name != "" && last.Name == s.jobName(creds.Version, last.Attempts)
	inFlight, attempt := w.input.SameInputs && last.FinishedAt == "", last.Attempts
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if ref := metav1.GetControllerOf(job); ref == nil || ref.UID != s.obj.GetUID() || job.DeletionTimestamp != nil {
			continue
		}
		switch {
		case creds.Open && job.Name == next:
			// Made, but the process ended before it could say so.
			w.flying, attempt = job, last.Attempts+1
		case job.Name == last.Name && inFlight:
			if w.flying == nil {
				w.flying = job
			}
		case job.Name == last.Name && last.FinishedAt != "":
			w.current = job
		default:
			w.strays = append(w.strays, job)
		}
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && (w.flying == nil || !metav1.IsControlledBy(p, w.flying)) {
			w.input.Lingering = p.Namespace + "/" + p.Name
		}
	}
	switch {
	case w.flying != nil:
		return r.fly(ctx, w, attempt)
	case inFlight:
		return r.confirmLost(ctx, s, w, *last)
	}
	return nil
}

// confirmLost asks the API server for the Job that the status names and the cache does not have. The cache may be behind
// our own write, and a second Job beside the first is what must not be.
func (r *Reconciler) confirmLost(ctx context.Context, s subject, w *world, last kopiurv1.ConnectJob) error {
	var job batchv1.Job
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.repo.HomeNamespace, Name: last.Name}, &job)
	switch {
	case apierrors.IsNotFound(err):
		w.input.Flight = &connect.Flight{Name: last.Name, Attempt: last.Attempts, Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true}}
		return nil
	case err != nil:
		return fmt.Errorf("get job %s: %w", last.Name, err)
	}
	w.flying = &job
	return r.fly(ctx, w, last.Attempts)
}

// fly looks at the Job in flight.
func (r *Reconciler) fly(ctx context.Context, w *world, attempt int32) error {
	job := w.flying
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, job)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.input.Flight = &connect.Flight{Name: job.Name, Attempt: attempt, Outcome: moverjob.Decide(job, pods, startup(job), r.ServerClock.Now())}
	return nil
}

// othersSucceeded is when a mover of somebody else last used this repository with success. It matters for one that is
// used at all. The time comes from the API server's clock and is moved to ours.
func (r *Reconciler) othersSucceeded(ctx context.Context, s subject) (time.Time, error) {
	if p := s.status.Phase; p != kopiurv1.RepositoryReady && p != kopiurv1.RepositoryDegraded {
		return time.Time{}, nil
	}
	var jobs batchv1.JobList
	of := client.MatchingLabels{kopiurv1.LabelRepositoryUID: string(s.obj.GetUID())}
	if err := r.Client.List(ctx, &jobs, of, client.UnsafeDisableDeepCopy); err != nil {
		return time.Time{}, fmt.Errorf("list the jobs of others: %w", err)
	}
	var newest time.Time
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if j.Labels[kopiurv1.LabelOperation] != bootstrap && j.Status.CompletionTime != nil && j.Status.CompletionTime.After(newest) {
			newest = j.Status.CompletionTime.Time
		}
	}
	if newest.IsZero() {
		return newest, nil
	}
	return r.Clock.Now().Add(-max(r.ServerClock.Now().Sub(newest), 0)), nil
}

// startup is how long the connect pod may take to run: a little less than the Job's own deadline, which would delete the
// pod and with it the reason why it did not start.
func startup(job *batchv1.Job) time.Duration {
	if d := job.Spec.ActiveDeadlineSeconds; d != nil {
		return min(time.Duration(*d)*time.Second-30*time.Second, moverjob.DefaultStartupDeadline)
	}
	return moverjob.DefaultStartupDeadline
}
