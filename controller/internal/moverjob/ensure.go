// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// ErrNameTaken is returned where a Job of the derived name belongs to somebody else.
var ErrNameTaken = errors.New("a Job of this name belongs to another object")

// Ensure creates the Job unless it exists. It never updates one: a Job's pod template cannot change.
func Ensure(ctx context.Context, c client.Client, job *batchv1.Job) error {
	err := c.Create(ctx, job)
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create job %s/%s: %w", job.Namespace, job.Name, err)
	}
	want := metav1.GetControllerOf(job)
	var have batchv1.Job
	if err := c.Get(ctx, client.ObjectKeyFromObject(job), &have); err != nil {
		if apierrors.IsNotFound(err) {
			// Not ours by its labels, or the cache has not seen it: the next reconcile looks again.
			return fmt.Errorf("job %s/%s exists and is not in the cache yet: %w", job.Namespace, job.Name, err)
		}
		return fmt.Errorf("get job %s/%s: %w", job.Namespace, job.Name, err)
	}
	if got := metav1.GetControllerOf(&have); want != nil && (got == nil || got.UID != want.UID) {
		return fmt.Errorf("job %s/%s: %w", job.Namespace, job.Name, ErrNameTaken)
	}
	return nil
}

// Taken reports whether the Job of this name belongs to somebody else. It asks past the cache, which holds our own Jobs
// only: Ensure cannot tell a foreign one from one of ours that the cache has not seen yet.
func Taken(ctx context.Context, live client.Reader, job *batchv1.Job) (bool, error) {
	want := metav1.GetControllerOf(job)
	var have batchv1.Job
	err := live.Get(ctx, client.ObjectKeyFromObject(job), &have)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get job %s/%s: %w", job.Namespace, job.Name, err)
	}
	got := metav1.GetControllerOf(&have)
	return want != nil && (got == nil || got.UID != want.UID), nil
}

// Fetch reads the Job of this name from the cache. A missing Job is nil, and so is one of another owner.
func Fetch(ctx context.Context, c client.Reader, namespace, name string, owner types.UID) (*batchv1.Job, error) {
	if name == "" {
		return nil, nil
	}
	var job batchv1.Job
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get job %s/%s: %w", namespace, name, err)
	}
	if got := metav1.GetControllerOf(&job); got == nil || got.UID != owner {
		return nil, nil
	}
	return &job, nil
}

// Pods reads the pods of a Job; there are none where there is no Job.
func Pods(ctx context.Context, c client.Reader, job *batchv1.Job) ([]corev1.Pod, error) {
	if job == nil {
		return nil, nil
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		batchv1.JobNameLabel:    job.Name,
	}); err != nil {
		return nil, fmt.Errorf("list the pods of job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, job) }), nil
}

// Evidence reads the pods of a Job from the cache, and of one that has ended without a result there, from the API server.
// The caches of Jobs and of pods do not move in step, and a result that is merely late must not pass for one that is lost:
// the work would be done again, and an outage would count as nothing. It is for work in flight; once its result is
// recorded, Pods will do and costs no request.
func Evidence(ctx context.Context, c, live client.Reader, job *batchv1.Job) ([]corev1.Pod, error) {
	pods, err := Pods(ctx, c, job)
	if err != nil || !withoutResult(job, pods) {
		return pods, err
	}
	return Pods(ctx, live, job)
}

// Retire lets the Job controller remove a Job some time after its result was recorded. Before that nothing may: the
// result lives in its pod. A Job that the cache shows as it was before is left to the next look.
func Retire(ctx context.Context, c client.Client, writes *loop.Writes, job *batchv1.Job, ttl int32) error {
	if job == nil || job.Spec.TTLSecondsAfterFinished != nil || writes.Behind(job) {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"ttlSecondsAfterFinished":%d}}`, ttl))
	retired := job.DeepCopy()
	if err := c.Patch(ctx, retired, patch); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("set the time to live of job %s/%s: %w", job.Namespace, job.Name, err)
	}
	writes.Did(job.UID, job.ResourceVersion, retired.ResourceVersion)
	return nil
}

// Reap deletes a Job with its pods. Foreground would wait for a pod that cannot end on a lost node.
func Reap(ctx context.Context, c client.Client, job *batchv1.Job) error {
	if job == nil {
		return nil
	}
	err := c.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}
