// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// observe reads everything. past are Jobs of earlier turns.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.Maintenance) (decide.World, []batchv1.Job, error) {
	w := decide.World{Maintenance: obj, Refusal: guard(obj)}
	repo, err := moverjob.Load(ctx, r.Client, obj.Spec.Repository.In(obj.Namespace), r.OperatorNamespace)
	switch {
	case err == nil:
		w.Repository = &repo
	case !apierrors.IsNotFound(err):
		return w, nil, err //nolint:wrapcheck // it says what it is
	}
	past, err := r.observeJobs(ctx, &w)
	if err != nil {
		return w, nil, err
	}
	turns := decide.Turns(obj, r.Clock.Now())
	if w.Job != nil || len(turns) == 0 || w.Repository == nil || w.Refusal.Refused() {
		return w, past, nil
	}
	for i := range past {
		if !moverjob.Over(&past[i]) {
			// Its turn was edited away. It ends by itself, and nothing starts beside it.
			w.Held = "Job " + past[i].Namespace + "/" + past[i].Name
		}
	}
	err = r.observeStart(ctx, &w, turns[0])
	return w, past, err
}

// guard is what admission would have said. A request for a run that cannot be read is no fault of the Maintenance.
func guard(obj *kopiurv1.Maintenance) validation.Refusal {
	plain := obj.DeepCopy()
	delete(plain.Annotations, kopiurv1.AnnotationRunRequested)
	delete(plain.Annotations, kopiurv1.AnnotationRunMode)
	return validation.Guard(plain)
}

// observeJobs finds the Job that is under way, and those of earlier turns.
func (r *Reconciler) observeJobs(ctx context.Context, w *decide.World) ([]batchv1.Job, error) {
	m := w.Maintenance
	var list batchv1.JobList
	if err := r.Client.List(ctx, &list, client.InNamespace(m.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: decide.Operation, kopiurv1.LabelOwnerUID: string(m.UID),
	}); err != nil {
		return nil, fmt.Errorf("list the runs of maintenance %s/%s: %w", m.Namespace, m.Name, err)
	}
	now := r.Clock.Now()
	var past []batchv1.Job
	for i := range list.Items {
		job := &list.Items[i]
		t, current := decide.TurnOf(m, job, now)
		switch {
		case job.DeletionTimestamp != nil || !metav1.IsControlledBy(job, m):
		case current && w.Job == nil:
			w.Job, w.Turn = job, t
		default:
			past = append(past, *job)
		}
	}
	if w.Job == nil {
		return past, nil
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, w.Job)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	w.Outcome = moverjob.Decide(w.Job, pods, moverjob.StartupDeadline(m.Spec.FailurePolicy), r.ServerClock.Now())
	if w.Outcome.State == moverjob.Finished && w.Outcome.PodName != "" {
		tail, err := moverjob.ReadTail(ctx, r.Logs, m.Namespace, w.Outcome.PodName)
		if err != nil {
			logf.FromContext(ctx).V(1).Info("Passing over a mover's log", "pod", w.Outcome.PodName, "reason", err.Error())
		}
		w.LogTail = tail.Text
	}
	return past, nil
}

func podsOf(ctx context.Context, c client.Reader, namespace, job string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, batchv1.JobNameLabel: job,
	}); err != nil {
		return nil, fmt.Errorf("list the pods of job %s/%s: %w", namespace, job, err)
	}
	return pods.Items, nil
}

// observeStart reads what a mover needs where it would run, and who may let it.
func (r *Reconciler) observeStart(ctx context.Context, w *decide.World, t decide.Turn) error {
	ns, repo := w.Maintenance.Namespace, *w.Repository
	creds, err := projection.Check(ctx, r.Client, &repo, ns, w.Maintenance.Spec.CredentialProjection, r.Projection)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Repository = &repo
	volume, err := gates.CheckVolume(ctx, r.Client, repo, ns)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Gates = []gates.Verdict{creds.Verdict, volume}
	if decide.Inherits(w.Maintenance) != nil {
		// Pods of others are not watched: they are read when a run is due.
		pods, err := workload.Neighbours(ctx, r.Live, ns)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Inherited, w.User = decide.TakeOver(*w, pods)
		w.Gates = append(w.Gates, w.User)
	}
	w.Allowed = repo.Allowed == nil || managed(w.Maintenance, repo)
	var permitted gates.Verdict
	job, err := decide.Build(*w, t, r.Clock.Now(), r.MoverImage, r.PullPolicy)
	if err != nil {
		w.Gates = append(w.Gates, gates.Verdict{Reason: kopiurv1.ReasonInvalidSpec, Message: err.Error()})
		w.Allowed = true
		return nil //nolint:nilerr // it is a fact about the spec
	}
	if permitted = gates.Privileges(job.Spec.Template.Spec, ns, nil); !permitted.Open || !w.Allowed {
		namespace, err := gates.Namespace(ctx, r.Live, ns)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		permitted = gates.Privileges(job.Spec.Template.Spec, ns, namespace.Annotations)
		w.Allowed = w.Allowed || repo.Allowed.Allows(ns, namespace.Labels)
	}
	w.Gates = append(w.Gates, permitted)
	return nil
}

// managed reports a Maintenance that Kopiur made for the repository: its own work is not for allowedNamespaces to gate.
func managed(m *kopiurv1.Maintenance, repo moverjob.Repository) bool {
	ref := metav1.GetControllerOf(m)
	return ref != nil && ref.UID == repo.UID
}

func alive(pods []corev1.Pod) bool {
	for i := range pods {
		if p := pods[i].Status.Phase; p != corev1.PodSucceeded && p != corev1.PodFailed {
			return true
		}
	}
	return false
}
