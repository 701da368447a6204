// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"context"
	"fmt"

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
		creds, err := projection.CheckAllowed(ctx, r.Client, r.Live, &repo, o.Namespace, o.Spec.CredentialProjection, r.Projection)
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
	slot, err := gates.Slot(ctx, r.Client, *w.Source, r.MaxConcurrentJobs)
	w.Gates = append(w.Gates, decide.Gate{Condition: kopiurv1.ConditionRepositorySlotAvailable, Verdict: slot})
	return err
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
