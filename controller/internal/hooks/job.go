// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

const (
	// Operation marks the Jobs of hooks.
	Operation = "hook"
	// look is how often the cache is asked for a Job's end. It costs no request.
	look = 200 * time.Millisecond
	// jobTTL is how long a Job stays for people to look at.
	jobTTL = int32(3600)
)

// JobName of a hook of a Snapshot. It is the same after a restart: the Job that is found is waited for, not repeated.
func JobName(s *kopiurv1.Snapshot, list string, index int) string {
	return moverjob.Name("h", s.Name, s.UID, Operation, fmt.Sprintf("%s/%d", list, index))
}

// job makes the Job of a hook and waits for its end.
func (r *Runner) job(ctx context.Context, owner *kopiurv1.Snapshot, one One) error {
	job, err := build(owner, one)
	if err != nil {
		return err
	}
	if asked := moverjob.Baseline(job.Spec.Template.Spec); len(asked) > 0 {
		ns, err := gates.Namespace(ctx, r.Live, owner.Namespace)
		if err != nil {
			return fmt.Errorf("ask for consent: %w", err)
		}
		if v := gates.Consent(asked, owner.Namespace, ns.Annotations); !v.Open {
			return failed("", "runJob: %s", v.Message)
		}
	}
	switch err := moverjob.Ensure(ctx, r.Client, job); {
	case err == nil, apierrors.IsNotFound(err): // it exists and is not in the cache yet
	case errors.Is(err, moverjob.ErrNameTaken):
		return failed("", "runJob: Job %s belongs to somebody else: delete or rename it", job.Name)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return failed(err.Error(), "runJob: the Job is refused")
	default:
		return fmt.Errorf("make the Job: %w", err)
	}
	return r.await(ctx, job)
}

// await waits for the end of a Job.
func (r *Runner) await(ctx context.Context, job *batchv1.Job) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		var have batchv1.Job
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), &have)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get Job %s: %w", job.Name, err)
		}
		for _, c := range have.Status.Conditions {
			switch {
			case c.Status != corev1.ConditionTrue:
			case c.Type == batchv1.JobComplete:
				return nil
			case c.Type == batchv1.JobFailed:
				return failed(c.Reason+": "+c.Message, "runJob: Job %s failed", job.Name)
			}
		}
		select {
		case <-ctx.Done():
			r.reap(ctx, job)
			return fmt.Errorf("wait for Job %s: %w", job.Name, ctx.Err())
		case <-tick.C:
		}
	}
}

// reap deletes a Job that ran out of its time: it must not freeze anything after the thaw. The end of the process is no
// such thing, its successor decides then.
func (r *Runner) reap(ctx context.Context, job *batchv1.Job) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = client.IgnoreNotFound(r.Client.Delete(dctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// Interrupt deletes the Jobs of a list that have not ended: the run that they belong to is over.
func (r *Runner) Interrupt(ctx context.Context, owner *kopiurv1.Snapshot, list string, n int) error {
	for i := range n {
		job, err := moverjob.Fetch(ctx, r.Client, owner.Namespace, JobName(owner, list, i), owner.UID)
		if err != nil {
			return fmt.Errorf("interrupt hooks: %w", err)
		}
		if job == nil || job.Status.CompletionTime != nil {
			continue
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return fmt.Errorf("interrupt hooks: %w", err)
		}
	}
	return nil
}

func build(owner *kopiurv1.Snapshot, one One) (*batchv1.Job, error) {
	spec, err := validation.DecodeJobSpec(one.Hook.RunJob.JobSpec.Raw)
	if err != nil {
		return nil, failed(err.Error(), "runJob.jobSpec cannot be read")
	}
	if spec.TTLSecondsAfterFinished == nil {
		spec.TTLSecondsAfterFinished = new(jobTTL)
	}
	version, kind := kopiurv1.GroupVersion.WithKind("Snapshot").ToAPIVersionAndKind()
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: JobName(owner, one.List, one.Index), Namespace: owner.Namespace,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
				kopiurv1.LabelOperation: Operation,
				kopiurv1.LabelOwnerUID:  string(owner.UID),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: owner.Name, UID: owner.UID, Controller: new(true)}},
		},
		Spec: spec,
	}, nil
}
