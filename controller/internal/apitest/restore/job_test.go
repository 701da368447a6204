// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// on plays op as asked and everything else as a success.
func (w *world) on(op string, change func(*testenv.Play)) {
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Name() == op {
			change(&p)
		}
		return p
	})
}

// Five seconds: long enough on a busy machine for the stand-in of the kubelet to say why the pod does not start.
func impatient(s *kopiurv1.RestoreSpec) {
	s.FailurePolicy = &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(5)), BackoffLimit: new(int32(0))}
}

func (w *world) untilNoJob(r *kopiurv1.Restore) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) { assert.Empty(c, w.jobsOf(r)) }, testenv.Wait, testenv.Tick)
}

func TestWedgedMoverIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.on("restore", func(p *testenv.Play) { p.Stuck = "ImagePullBackOff" })
	w.begin()
	r := w.restore(impatient)
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonMoverPodWedged)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	assert.Contains(t, r.Status.Failure.Message, "ImagePullBackOff")
	w.untilNoJob(r)
	w.rests(r)

	w.Mover(testenv.Succeed)
	w.update(r, func() { r.Spec.FailurePolicy.PodStartupDeadlineSeconds = new(int64(300)) })
	w.untilReady(r)
}

// TestWedgedQuestionIsNoAnswer is K-1 for a mover that never starts.
func TestWedgedQuestionIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.on("resolve", func(p *testenv.Play) { p.Stuck = "ImagePullBackOff" })
	w.begin()
	r := w.restore(fromPolicy, impatient)
	w.until(r, kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown)
	assert.Nil(t, r.Status.Resolved)
	w.noClaim("data-new")
	w.untilNoJob(r)
}

func TestDeadlineKilledIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.on("restore", func(p *testenv.Play) { p.DeadlineKilled = true })
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonDeadlineKilled)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
}

func TestRetryableFailureIsTriedByItsJobFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.on("restore", func(p *testenv.Play) {
		p.Result.Code, p.Result.Message, p.Result.Restore = work.CodeRepositoryUnavailable, "no answer", nil
	})
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
	assert.Len(t, w.CallsOf("restore"), 3)
	assert.True(t, r.Status.Failure.RetryRecommended)
	assert.EqualValues(t, 1, r.Status.Job.Attempts)
}

// TestForeignJobIsNotTaken: whoever owns a Job of our name keeps it.
func TestForeignJobIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.restore()
	spec, err := work.EncodeSpec(work.Spec{Operation: work.Operation{Resolve: &work.Resolve{}}})
	require.NoError(t, err)
	foreign := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: moverjob.Name("v", r.Name, r.UID, "restore", "1")},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: moverjob.Container, Image: "somebody", Env: []corev1.EnvVar{{Name: work.EnvSpec, Value: spec}}}},
		}}},
	}
	w.Create(foreign)
	w.begin()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonJobNameTaken)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, foreign.Name)
	assert.Empty(t, w.CallsOf("restore"))
	w.rests(r)
}

// TestALateResultIsNotALostOne: the Job has ended and its pod is not in the cache. What it wrote is not written again.
func TestALateResultIsNotALostOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.LatePods()
	w.begin()
	r := w.restore(fromPolicy)
	w.untilReady(r)
	assert.Len(t, w.CallsOf("resolve"), 1)
	assert.Len(t, w.CallsOf("restore"), 1)
}
