// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// observe reads everything. past are Jobs of earlier turns.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.RepositoryReplication) (decide.World, []batchv1.Job, error) {
	w := decide.World{Replication: obj}
	repo, err := moverjob.Load(ctx, r.Client, obj.Spec.SourceRef.In(obj.Namespace), r.OperatorNamespace)
	switch {
	case err == nil:
		w.Source = &repo
	case !apierrors.IsNotFound(err):
		return w, nil, err //nolint:wrapcheck // it says what it is
	}
	past, err := r.observeJobs(ctx, &w)
	if err != nil {
		return w, nil, err
	}
	if err := r.observeProof(ctx, &w, &past); err != nil {
		return w, nil, err
	}
	if w.Job != nil {
		return w, past, nil
	}
	for i := range past {
		if !moverjob.Over(&past[i]) {
			// It ends by itself, and nothing starts beside it.
			w.Beside = "Job " + past[i].Name + " of an earlier run has not ended yet"
		}
	}
	var all kopiurv1.RepositoryReplicationList
	for _, place := range mapper.ReplicationDestination(obj) {
		if err := r.Client.List(ctx, &all, client.MatchingFields{mapper.FieldDestination: place}, client.UnsafeDisableDeepCopy); err != nil {
			return w, nil, fmt.Errorf("list the replications to one place: %w", err)
		}
	}
	w.Others = all.Items
	if w.Source == nil {
		return w, past, nil
	}
	if err := r.observeSides(ctx, &w); err != nil {
		return w, past, err
	}
	err = r.observeProofStart(ctx, &w)
	return w, past, err
}

// observeJobs finds the Job that is under way, and those of earlier turns.
func (r *Reconciler) observeJobs(ctx context.Context, w *decide.World) ([]batchv1.Job, error) {
	o := w.Replication
	var list batchv1.JobList
	if err := r.Client.List(ctx, &list, client.InNamespace(o.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: decide.Operation, kopiurv1.LabelOwnerUID: string(o.UID),
	}); err != nil {
		return nil, fmt.Errorf("list the runs of replication %s/%s: %w", o.Namespace, o.Name, err)
	}
	var past []batchv1.Job
	now := r.Clock.Now()
	for i := range list.Items {
		job := &list.Items[i]
		t, current := decide.TurnOf(o, job, now)
		switch {
		case job.DeletionTimestamp != nil || !metav1.IsControlledBy(job, o):
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
	w.Outcome = moverjob.Decide(w.Job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now())
	r.observeLog(ctx, w)
	return past, nil
}

// observeLog reads the end of the mover's log for its progress while it works, and for its last lines when it has ended.
func (r *Reconciler) observeLog(ctx context.Context, w *decide.World) {
	if w.Outcome.PodName == "" || w.Outcome.State != moverjob.Finished && !decide.ProgressDue(*w, r.ServerClock.Now()) {
		return
	}
	tail, err := moverjob.ReadTail(ctx, r.Logs, w.Replication.Namespace, w.Outcome.PodName)
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Passing over a mover's log", "pod", w.Outcome.PodName, "reason", err.Error())
		return
	}
	w.Tail = tail
}

// observeSides reads what a mover needs of both sides where it would run, and who may let it.
func (r *Reconciler) observeSides(ctx context.Context, w *decide.World) error {
	o := w.Replication
	var versions []string
	for _, repo := range []moverjob.Repository{*w.Source, decide.Replica(o, *w.Source)} {
		creds, err := gates.CheckCredentials(ctx, r.Client, repo, o.Namespace)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionCredentialsAvailable, Verdict: creds.Verdict})
		volume, err := gates.CheckVolume(ctx, r.Client, repo, o.Namespace)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionRepositoryReady, Verdict: volume})
		if creds.Version == "" {
			w.CredentialVersion = ""
			return nil
		}
		versions = append(versions, creds.Version)
	}
	w.CredentialVersion = strings.Join(versions, ";")
	if len(decide.Turns(o, r.Clock.Now())) == 0 {
		return nil
	}
	job, err := decide.Build(*w, decide.Turn{}, r.MoverImage, r.PullPolicy)
	if err != nil {
		return nil //nolint:nilerr // it is a fact about the spec, and told by the decision
	}
	permitted, err := r.permitted(ctx, job)
	if err != nil {
		return err
	}
	slot, err := gates.Slot(ctx, r.Client, *w.Source, r.MaxConcurrentJobs)
	w.Gates = append(w.Gates,
		decide.Gate{Condition: kopiurv1.ConditionMoverPermitted, Verdict: permitted},
		decide.Gate{Condition: kopiurv1.ConditionRepositorySlotAvailable, Verdict: slot})
	return err
}

// permitted reports whether the namespace lets a Job have the privileges that it asks for.
func (r *Reconciler) permitted(ctx context.Context, job *batchv1.Job) (gates.Verdict, error) {
	v := gates.Privileges(job.Spec.Template.Spec, job.Namespace, nil)
	if v.Open {
		return v, nil
	}
	ns, err := gates.Namespace(ctx, r.Live, job.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return v, fmt.Errorf("observe: %w", err)
	}
	if err == nil {
		v = gates.Privileges(job.Spec.Template.Spec, job.Namespace, ns.Annotations)
	}
	return v, nil
}
