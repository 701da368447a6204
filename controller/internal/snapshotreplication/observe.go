// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// observe reads what the decision needs.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.SnapshotReplication) (decide.World, *gathered, error) {
	w := decide.World{
		Replication: obj, Image: r.MoverImage, PullPolicy: r.PullPolicy,
		Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true},
	}
	g := r.runs.get(obj)
	if err := r.observeSides(ctx, &w); err != nil {
		return w, g, err
	}
	turn := obj.Status.Run
	if turn == nil {
		err := r.observeGates(ctx, &w)
		return w, g, err
	}
	if err := r.observeJob(ctx, &w, decide.JobName(obj, *turn)); err != nil {
		return w, g, err
	}
	if w.Job == nil {
		err := r.observeGates(ctx, &w)
		return w, g, err
	}
	r.observeLog(ctx, &w)
	err := r.gather(ctx, &w, g)
	return w, g, err
}

// observeSides reads both repositories, and what their movers mount here.
func (r *Reconciler) observeSides(ctx context.Context, w *decide.World) error {
	o := w.Replication
	load := func(ref kopiurv1.RepositoryRef) (*moverjob.Repository, string, error) {
		repo, err := moverjob.Load(ctx, r.Client, ref.In(o.Namespace), r.OperatorNamespace)
		if apierrors.IsNotFound(err) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err //nolint:wrapcheck // says what and where
		}
		creds, err := projection.Check(ctx, r.Client, &repo, o.Namespace, o.Spec.CredentialProjection, r.Projection)
		if err != nil {
			return nil, "", err //nolint:wrapcheck // says what and where
		}
		w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionCredentialsAvailable, Verdict: creds.Verdict})
		return &repo, creds.Version, nil
	}
	var from, to string
	var err error
	if w.Source, from, err = load(o.Spec.SourceRef); err != nil {
		return err
	}
	if w.Destination, to, err = load(o.Spec.DestinationRef); err != nil {
		return err
	}
	if from != "" && to != "" {
		w.CredentialVersion = from + ";" + to
	}
	return nil
}

// observeGates reads what else a start has to pass. Consent is read live, and only where there is something to permit.
func (r *Reconciler) observeGates(ctx context.Context, w *decide.World) error {
	o := w.Replication
	if w.Source == nil || w.Destination == nil {
		return nil
	}
	for _, repo := range []*moverjob.Repository{w.Source, w.Destination} {
		v, err := gates.CheckVolume(ctx, r.Client, *repo, o.Namespace)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Gates = append(w.Gates, decide.Gate{Verdict: v})
	}
	turn := kopiurv1.SnapshotReplicationTurn{}
	if o.Status.Run != nil {
		turn = *o.Status.Run
	}
	job, err := decide.Build(*w, turn)
	if err != nil {
		return nil //nolint:nilerr // it is a fact about the spec, and told when a run is to start
	}
	v := gates.Privileges(job.Spec.Template.Spec, o.Namespace, nil)
	if !v.Open {
		ns, err := gates.Namespace(ctx, r.Live, o.Namespace)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("observe: %w", err)
		}
		if err == nil {
			v = gates.Privileges(job.Spec.Template.Spec, o.Namespace, ns.Annotations)
		}
	}
	w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionMoverPermitted, Verdict: v})
	slot, err := r.slot(ctx, *w)
	w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionRepositorySlotAvailable, Verdict: slot})
	return err
}

// pooled are the operations that use a repository's bandwidth.
var pooled = map[string]bool{
	"snapshot": true, "streamSnapshot": true, "restore": true, "streamRestore": true, "replicate": true, "migrate": true,
}

// slot counts the movers at work. A run reads from the source for hours, and waits for its turn there as a backup does.
func (r *Reconciler) slot(ctx context.Context, w decide.World) (gates.Verdict, error) {
	limit := 0
	if c := w.Source.Spec.Concurrency; c != nil {
		limit = int(c.MaxConcurrentJobs)
	}
	if limit == 0 && r.MaxConcurrentJobs == 0 {
		return gates.Verdict{Open: true, Reason: kopiurv1.ReasonSucceeded, Message: "no limit is set"}, nil
	}
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return gates.Verdict{}, fmt.Errorf("list the movers: %w", err)
	}
	here, all := 0, 0
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if !pooled[j.Labels[kopiurv1.LabelOperation]] || over(j) || j.Spec.Suspend != nil && *j.Spec.Suspend {
			continue
		}
		all++
		if j.Labels[kopiurv1.LabelRepositoryUID] == string(w.Source.UID) {
			here++
		}
	}
	switch {
	case limit > 0 && here >= limit:
		return gates.Verdict{Reason: kopiurv1.ReasonWaitingForSlot, Message: fmt.Sprintf("%s allows %d at a time (concurrency.maxConcurrentJobs)", w.Source.Ref, limit)}, nil
	case r.MaxConcurrentJobs > 0 && all >= r.MaxConcurrentJobs:
		return gates.Verdict{Reason: kopiurv1.ReasonWaitingForSlot, Message: fmt.Sprintf("the controller allows %d at a time in the whole cluster (maxConcurrentJobs)", r.MaxConcurrentJobs)}, nil
	default:
		return gates.Verdict{Open: true, Reason: kopiurv1.ReasonSucceeded, Message: "fewer movers are at work than may be"}, nil
	}
}

// observeJob reads the Job of the present part. One that the cache does not have is looked for past it: a second one
// beside it would copy everything twice.
func (r *Reconciler) observeJob(ctx context.Context, w *decide.World, name string) error {
	o := w.Replication
	job, err := moverjob.Fetch(ctx, r.Client, o.Namespace, name, o.UID)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if job == nil {
		if job, err = moverjob.Fetch(ctx, r.Live, o.Namespace, name, o.UID); err != nil || job == nil {
			return err //nolint:wrapcheck // says what and where
		}
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, job)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.Job = job
	w.Outcome = moverjob.Decide(job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now())
	return nil
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

func over(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
