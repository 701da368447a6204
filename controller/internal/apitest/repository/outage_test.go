// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestAnOutageIsTriedAgainMoreAndMoreRarely is half an hour of an outage, and its end.
func TestAnOutageIsTriedAgainMoreAndMoreRarely(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	clk := env.NewTime()
	env.Mover(failing(work.CodeRepositoryUnavailable, "dial tcp 10.0.0.1:9000: i/o timeout"))
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController(clk.Decisions)
	expect(t, env, r, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable)
	for i, rest := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		failures(t, env, r, i+1)
		clk.Step(rest - 20*time.Second)
		env.Quiet(r, 500*time.Millisecond)
		clk.Step(20 * time.Second)
	}
	failures(t, env, r, 7)
	assert.Len(t, env.Calls(), 7*3, "seven Jobs of three pods in an hour and a half")

	env.Mover(testenv.Succeed)
	env.Annotate(r, kopiurv1.AnnotationReverifyRequestedAt, clk.Now().UTC().Format(time.RFC3339))
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	assert.NotEmpty(t, r.Status.LastReverifyAt, "asked for, it does not wait for its turn")
	assert.Zero(t, r.Status.Health.ConsecutiveProbeFailures)
}

// failures waits for the n-th failure in a row to be recorded.
func failures(t *testing.T, env *testenv.Env, r *kopiurv1.Repository, n int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		require.NotNil(c, r.Status.Job)
		require.Equal(c, int32(n), r.Status.Job.Failures)
		require.NotEmpty(c, r.Status.Job.FinishedAt)
	}, testenv.Wait, testenv.Tick)
}

// C-3, C-4: TestASlowStoreGetsMoreTime: a deadline kill is not an outage, and doubles what the next attempt is given.
func TestASlowStoreGetsMoreTime(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	clk := env.NewTime()
	env.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Deadline.HardSeconds < 480 {
			return testenv.Play{DeadlineKilled: true}
		}
		return testenv.Succeed(c)
	})
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController(clk.Decisions)
	expect(t, env, r, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBootstrapDeadlineExceeded)
	clk.Step(2 * time.Minute)
	failures(t, env, r, 2)
	clk.Step(4 * time.Minute)
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	var deadlines []int64
	for _, c := range env.Calls() {
		deadlines = append(deadlines, c.Spec.Deadline.HardSeconds)
	}
	assert.Equal(t, []int64{120, 240, 480}, deadlines)
	assert.Zero(t, r.Status.Job.DeadlineKills)
}

// TestAPodThatDoesNotStart says why, and is removed before the next attempt.
func TestAPodThatDoesNotStart(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	clk := env.NewTime()
	env.Mover(func(testenv.Call) testenv.Play { return testenv.Play{Stuck: "ImagePullBackOff"} })
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController(clk.Everything)
	expect(t, env, r, kopiurv1.RepositoryInitializing, kopiurv1.ReasonConnecting)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		assert.Contains(c, condition(r.Status.Conditions, kopiurv1.ConditionReady).Message, "ImagePullBackOff")
	}, testenv.Wait, testenv.Tick)
	clk.Step(211 * time.Second)
	expect(t, env, r, kopiurv1.RepositoryInitializing, kopiurv1.ReasonMoverPodWedged)
	assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionReady).Message, "ImagePullBackOff")
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, jobs(t, env, env.Namespace)) }, testenv.Wait, testenv.Tick)
}

// TestALateResultIsNotALostOne: the Job has ended and its pod is not in the cache. An outage counts as one.
func TestALateResultIsNotALostOne(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Mover(failing(work.CodeRepositoryUnavailable, "no route"))
	env.LatePods()
	r := nas()
	env.Create(secrets()...)
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable)
}
