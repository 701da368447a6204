// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// looks plays connects with play, and lets all other movers succeed.
func looks(play func(testenv.Call) testenv.Play) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Bootstrap == nil {
			return testenv.Succeed(c)
		}
		return play(c)
	}
}

var down = looks(failing(work.CodeRepositoryUnavailable, "dial tcp 10.0.0.1:9000: i/o timeout"))

// TestProbesOfADay: 48 looks of one pod each, each half an hour after the end of the one before it, and nothing in
// between (C-5, C-9).
func TestProbesOfADay(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Create(r.Object)
		env.StartController(clk.Decisions)
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		r.looked(t, env, 1)
		begin := clk.Now()
		for n := int32(1); clk.Now().Sub(begin) < 24*time.Hour; n++ {
			if n%8 == 1 {
				clk.Step(29 * time.Minute)
				env.Quiet(r.Object, 500*time.Millisecond)
				clk.Step(time.Minute)
			} else {
				clk.Step(30 * time.Minute)
			}
			r.looked(t, env, n+1)
			require.Equal(t, kopiurv1.RepositoryReady, r.status.Phase)
		}
		assert.LessOrEqual(t, len(env.Calls())-1, 48)
		assert.GreaterOrEqual(t, len(env.Calls())-1, 47)
		assert.Nil(t, env.Calls()[5].Spec.Operation.Bootstrap.Create)
		assert.Empty(t, r.status.Health.ProbeAttemptAt)
	})
}

// TestANightWithoutTheStore: two failures park nobody, the third does; what waits goes on by itself when the store is
// back. All night one dead Job lies there, and one event tells of it (C-1).
func TestANightWithoutTheStore(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Create(r.Object)
		r.backup(env)
		env.StartController(clk.Decisions)
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		r.looked(t, env, 1)

		env.Mover(down)
		clk.Step(30 * time.Minute)
		for n, rest := range []time.Duration{2 * time.Minute, 4 * time.Minute} {
			r.looked(t, env, int32(n)+2)
			assert.Equal(t, kopiurv1.RepositoryReady, r.status.Phase)
			assert.True(t, loop.IsTrue(r.status.Conditions, kopiurv1.ConditionReady))
			assert.True(t, loop.IsFalse(r.status.Conditions, kopiurv1.ConditionBackendReachable))
			clk.Step(rest)
		}
		r.expect(t, env, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable)
		r.looked(t, env, 4)
		assert.Len(t, env.Calls(), 4, "each look is one pod")
		first := r.status.Health.FirstFailureAt

		s := snapshot("of-the-night")
		env.Create(s)
		expectSnapshot(t, env, s, kopiurv1.SnapshotPending, kopiurv1.ReasonRepositoryNotReady)
		clk.Step(8 * time.Minute)
		n := int32(5)
		r.looked(t, env, n)
		clk.Step(16 * time.Minute)
		for ; n < 20; n++ {
			r.looked(t, env, n+1)
			assert.Equal(t, kopiurv1.RepositoryDegraded, r.status.Phase)
			clk.Step(30 * time.Minute)
		}
		r.looked(t, env, n+1)
		assert.Equal(t, n, r.status.Health.ConsecutiveProbeFailures)
		assert.Equal(t, first, r.status.Health.FirstFailureAt)
		expectSnapshot(t, env, s, kopiurv1.SnapshotPending, kopiurv1.ReasonRepositoryNotReady)
		hasGauge(t, env, r, "kopiur_repository_health_probe_failures", "Connects in a row that found the repository lost or out of reach.", "20")

		env.Mover(testenv.Succeed)
		clk.Step(30 * time.Minute)
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		assert.Zero(t, r.status.Health.ConsecutiveProbeFailures)
		expectSnapshot(t, env, s, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded)
	})
}

// hasGauge waits for a gauge: it is read from the controller's cache, which follows the API server.
func hasGauge(t *testing.T, env *testenv.Env, r *repository, name, help, value string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, testutil.GatherAndCompare(env.Gauges(), strings.NewReader(gaugeOf(r, name, help, value)), name))
	}, testenv.Wait, testenv.Tick)
}

func gaugeOf(r *repository, name, help, value string) string {
	kind := "Repository"
	if r.ref().Kind != "" {
		kind = string(r.ref().Kind)
	}
	return "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n" +
		name + `{kind="` + kind + `",name="` + r.GetName() + `",namespace="` + r.GetNamespace() + `"} ` + value + "\n"
}

// TestAStoreThatFlaps: it fails twice of three times, and nobody is ever parked.
func TestAStoreThatFlaps(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	clk := env.NewTime()
	var n atomic.Int32
	env.Mover(looks(func(c testenv.Call) testenv.Play {
		if n.Add(1)%3 == 1 {
			return testenv.Succeed(c)
		}
		return testenv.Fail(c, work.CodeRepositoryUnavailable, "503 slow down")
	}))
	env.Create(secrets()...)
	nas := nas()
	r := &repository{Object: nas, spec: &nas.Spec, status: &nas.Status, home: env.Namespace}
	env.Create(nas)
	env.StartController(clk.Decisions)
	for i := int32(1); i <= 10; i++ {
		r.looked(t, env, i)
		require.Equal(t, kopiurv1.RepositoryReady, nas.Status.Phase, "after look %d", i)
		require.Equal(t, (i-1)%3, nas.Status.Health.ConsecutiveProbeFailures)
		clk.Step([]time.Duration{30 * time.Minute, 2 * time.Minute, 4 * time.Minute}[(i-1)%3])
	}
}

// TestASlowStoreGoesOn: a look that does not fit into its time parks nobody and gets twice the time at the next turn
// (C-3).
func TestASlowStoreGoesOn(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Create(r.Object)
		r.backup(env)
		env.StartController(clk.Decisions)
		r.looked(t, env, 1)
		env.Mover(looks(func(c testenv.Call) testenv.Play {
			if c.Spec.Deadline.HardSeconds < 480 {
				return testenv.Play{DeadlineKilled: true}
			}
			p := testenv.Succeed(c)
			p.Result.Bootstrap.ConnectSeconds = 253
			return p
		}))
		clk.Step(30 * time.Minute)
		for i, rest := range []time.Duration{2 * time.Minute, 4 * time.Minute} {
			r.looked(t, env, int32(i)+2)
			assert.Equal(t, kopiurv1.RepositoryReady, r.status.Phase)
			reachable := condition(r.status.Conditions, kopiurv1.ConditionBackendReachable)
			assert.Equal(t, kopiurv1.ReasonProbeDeadlineExceeded, reachable.Reason)
			assert.Equal(t, metav1.ConditionUnknown, reachable.Status, "slow is not down")
			assert.Zero(t, r.status.Health.ConsecutiveProbeFailures)
			clk.Step(rest)
		}
		r.looked(t, env, 4)
		assert.True(t, loop.IsTrue(r.status.Conditions, kopiurv1.ConditionBackendReachable))
		assert.Equal(t, int64(253), r.status.Health.ConnectSeconds)
		clk.Step(30 * time.Minute)
		r.looked(t, env, 5)
		calls := env.Calls()
		assert.Equal(t, int64(759), calls[len(calls)-1].Spec.Deadline.HardSeconds, "a connect that takes four minutes is given more than two")
		s := snapshot("meanwhile")
		env.Create(s)
		expectSnapshot(t, env, s, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded)
	})
}

// TestCredentialsThatWereRotatedAtTheStore: a probe finds out, the repository is parked, and the corrected Secret opens it
// at once (C-2, C-15).
func TestCredentialsThatWereRotatedAtTheStore(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]work.Code{"its password": work.CodeAuthFailure, "its keys": work.CodeAccessDenied} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
				t.Helper()
				clk := env.NewTime()
				env.Create(r.Object)
				env.StartController(clk.Decisions)
				r.looked(t, env, 1)
				env.Mover(failing(code, "no"))
				clk.Step(30 * time.Minute)
				r.expect(t, env, kopiurv1.RepositoryFailed, string(code))
				r.looked(t, env, 2)
				env.Quiet(r.Object, 500*time.Millisecond)
				env.Mover(testenv.Succeed)
				r.touch(env, map[work.Code]string{work.CodeAuthFailure: "password", work.CodeAccessDenied: "keys"}[code])
				r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
				r.looked(t, env, 3)
			})
		})
	}
}

// TestABackupThatCannotReachTheStoreAsks: one look, asked for by an annotation, however many ask.
func TestABackupThatCannotReachTheStoreAsks(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Mover(func(c testenv.Call) testenv.Play {
			if c.Spec.Operation.Bootstrap != nil {
				return testenv.Succeed(c)
			}
			return testenv.Fail(c, work.CodeRepositoryUnavailable, "connection reset by peer")
		})
		env.Create(r.Object)
		r.backup(env)
		env.StartController(clk.Decisions)
		r.looked(t, env, 1)
		for _, name := range []string{"one", "two", "three"} {
			s := snapshot(name)
			env.Create(s)
			expectSnapshot(t, env, s, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed)
		}
		r.looked(t, env, 2)
		assert.NotEmpty(t, r.GetAnnotations()[kopiurv1.AnnotationReverifyRequestedAt])
		assert.NotEmpty(t, r.status.LastReverifyAt)
		assert.Equal(t, kopiurv1.RepositoryReady, r.status.Phase, "the repository's own look decides, and that was well")
		env.Quiet(r.Object, time.Second)
		looks := 0
		for _, c := range env.Calls() {
			if c.Spec.Operation.Bootstrap != nil {
				looks++
			}
		}
		assert.Equal(t, 2, looks)
	})
}

// TestBackupsThatSucceedAreLooks: while they do, no probe is started but for the one that counts (C-9).
func TestBackupsThatSucceedAreLooks(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Create(r.Object)
		r.backup(env)
		env.StartController(clk.Decisions)
		r.looked(t, env, 1)
		// Two steps are less than the rest between two looks: the end of a backup's Job may come to be known one step late.
		const step = 14 * time.Minute
		for i := range 25 {
			clk.Step(step)
			s := snapshot("every-14-minutes-" + string(rune('a'+i)))
			env.Create(s)
			expectSnapshot(t, env, s, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded)
		}
		r.looked(t, env, 1)
		clk.Step(step)
		r.looked(t, env, 2)
	})
}

// TestABackupThatSucceedsEndsAnOutage: it began before, and what its own connects find does not matter any more.
func TestABackupThatSucceedsEndsAnOutage(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		clk := env.NewTime()
		env.Create(r.Object)
		r.backup(env)
		env.StartController(clk.Decisions)
		r.looked(t, env, 1)
		hold := make(chan struct{})
		env.Mover(func(c testenv.Call) testenv.Play {
			if c.Spec.Operation.Bootstrap != nil {
				return testenv.Fail(c, work.CodeRepositoryUnavailable, "no route to host")
			}
			p := testenv.Succeed(c)
			p.Hold = hold
			return p
		})
		s := snapshot("through-the-outage")
		env.Create(s)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, s)
			assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
		}, testenv.Wait, testenv.Tick)
		clk.Step(30 * time.Minute)
		r.looked(t, env, 2)
		clk.Step(2 * time.Minute)
		r.looked(t, env, 3)
		clk.Step(4 * time.Minute)
		r.expect(t, env, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable)
		r.looked(t, env, 4)
		clk.Step(2 * time.Second) // statuses have whole seconds
		close(hold)
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		assert.Equal(t, int32(4), r.status.Job.Attempts, "without another look")
	})
}
