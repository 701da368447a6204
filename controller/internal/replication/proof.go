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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/verification"
)

// observeProof finds the Job that verifies the copy. Those that no turn expects any more are added to past.
func (r *Reconciler) observeProof(ctx context.Context, w *decide.World, past *[]batchv1.Job) error {
	o := w.Replication
	var list batchv1.JobList
	if err := r.Client.List(ctx, &list, client.InNamespace(o.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: verify.Operation, kopiurv1.LabelOwnerUID: string(o.UID),
	}); err != nil {
		return fmt.Errorf("list the verifications of replication %s/%s: %w", o.Namespace, o.Name, err)
	}
	expected := ""
	if decide.ProofDue(o, r.Clock.Now()) {
		expected = decide.ProofJobName(o, decide.ProofRun(o))
	}
	for i := range list.Items {
		job := &list.Items[i]
		switch {
		case job.DeletionTimestamp != nil || !metav1.IsControlledBy(job, o):
		case job.Name == expected:
			w.Proof.Job = job
		default:
			*past = append(*past, *job)
		}
	}
	if w.Proof.Job == nil {
		return nil
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, w.Proof.Job)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Proof.Outcome = moverjob.Decide(w.Proof.Job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now())
	if w.Proof.Outcome.State == moverjob.Finished && w.Proof.Outcome.PodName != "" {
		if w.Proof.Tail, err = moverjob.ReadTail(ctx, r.Logs, o.Namespace, w.Proof.Outcome.PodName); err != nil {
			logf.FromContext(ctx).V(1).Info("Passing over a mover's log", "pod", w.Proof.Outcome.PodName, "reason", err.Error())
		}
	}
	return nil
}

// observeProofStart reads what the mover of a proof that is due needs. The source itself is not asked.
func (r *Reconciler) observeProofStart(ctx context.Context, w *decide.World) error {
	o := w.Replication
	if w.Proof.Job != nil || w.Source == nil || !decide.ProofDue(o, r.Clock.Now()) {
		return nil
	}
	replica := decide.Replica(o, *w.Source)
	creds, err := gates.CheckCredentials(ctx, r.Client, replica, o.Namespace)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	volume, err := gates.CheckVolume(ctx, r.Client, replica, o.Namespace)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Proof.Gates = []gates.Verdict{creds.Verdict, volume}
	job, err := decide.BuildProof(*w, decide.ProofRun(o), r.MoverImage, r.PullPolicy)
	if err != nil {
		w.Proof.Gates = append(w.Proof.Gates, gates.Verdict{Reason: kopiurv1.ReasonInvalidSpec, Message: err.Error()})
		return nil //nolint:nilerr // it is a fact about the spec
	}
	permitted, err := r.permitted(ctx, job)
	w.Proof.Gates = append(w.Proof.Gates, permitted)
	return err
}

// prove starts the verification of the copy where the plan says so, and tells of it. What keeps it from starting now is no
// fault of the copy, and not told as one.
func (r *Reconciler) prove(ctx context.Context, p *loop.Patcher, w decide.World, plan decide.Plan) (after time.Duration, err error) {
	if plan.Proof == nil {
		return 0, nil
	}
	proof := *plan.Proof
	if proof.Recorded {
		p.Count(proofs.WithLabelValues(outcomeOf(proof.Run)).Inc)
		logf.FromContext(ctx).Info("Recording a verification", "outcome", proof.Run.Outcome)
	}
	if proof.Start {
		waiting, err := r.startProof(ctx, w, proof)
		if err != nil {
			p.Carry(kopiurv1.ConditionVerified)
			return 0, err
		}
		if !waiting.Open {
			proof.Run.Job, after = "", settle
		}
		proof.Waiting = waiting
		w.Replication.Status.Verification = &proof.Run.VerificationState
	}
	v := verify.VerdictOf(proof)
	v.Message = "verification of the copy: " + v.Message
	verification.Announce(p, v)
	return after, nil
}

func (r *Reconciler) startProof(ctx context.Context, w decide.World, proof verify.Plan) (gates.Verdict, error) {
	job, err := decide.BuildProof(w, proof.Run, r.MoverImage, r.PullPolicy)
	if err != nil {
		return gates.Verdict{}, fmt.Errorf("start: %w", err)
	}
	name := job.Name
	r.starts.Lock()
	defer r.starts.Unlock()
	other, err := r.beside(ctx, w, name)
	if err != nil {
		return gates.Verdict{}, err
	}
	if other != "" {
		return gates.Verdict{Reason: kopiurv1.ReasonVerificationWaiting, Message: other}, nil
	}
	err = moverjob.Ensure(ctx, r.Client, job)
	switch {
	case errors.Is(err, moverjob.ErrNameTaken):
		return gates.Verdict{Reason: kopiurv1.ReasonJobNameTaken, Message: "Job " + name + " belongs to another object: delete or rename it"}, nil
	case apierrors.IsNotFound(err):
		return gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + name + " has just appeared"}, nil
	case err != nil:
		return gates.Verdict{}, fmt.Errorf("start: %w", err)
	}
	logf.FromContext(ctx).Info("Verifying the copy", "job", name)
	return gates.Verdict{Open: true}, nil
}
