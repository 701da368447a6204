// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// TestTheStandInsPassAsTheRealThing reads the fake mover's Jobs with the code that reads real ones.
func TestTheStandInsPassAsTheRealThing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		play  func(testenv.Call) testenv.Play
		check func(*testing.T, moverjob.Outcome)
	}{
		"a success": {
			play: testenv.Succeed,
			check: func(t *testing.T, o moverjob.Outcome) {
				t.Helper()
				require.Equal(t, moverjob.Finished, o.State)
				assert.Equal(t, work.CodeOK, o.Result.Code)
			},
		},
		"a permanent failure is not tried again": {
			play: func(c testenv.Call) testenv.Play { return testenv.Fail(c, work.CodeAuthFailure, "wrong password") },
			check: func(t *testing.T, o moverjob.Outcome) {
				t.Helper()
				require.Equal(t, moverjob.Finished, o.State)
				assert.Equal(t, work.CodeAuthFailure, o.Result.Code)
				assert.Equal(t, int32(20), *o.ExitCode)
				assert.Equal(t, int32(1), o.Attempts)
			},
		},
		"a retryable failure is, up to the limit": {
			play: func(c testenv.Call) testenv.Play { return testenv.Fail(c, work.CodeRepositoryUnavailable, "no answer") },
			check: func(t *testing.T, o moverjob.Outcome) {
				t.Helper()
				require.Equal(t, moverjob.Finished, o.State)
				assert.Equal(t, work.CodeRepositoryUnavailable, o.Result.Code)
				assert.Equal(t, int32(3), o.Attempts)
			},
		},
		"a deadline leaves no pod": {
			play: func(testenv.Call) testenv.Play { return testenv.Play{DeadlineKilled: true} },
			check: func(t *testing.T, o moverjob.Outcome) {
				t.Helper()
				assert.Equal(t, moverjob.DeadlineKilled, o.State)
			},
		},
		"a pod that went before its result was read": {
			play: func(c testenv.Call) testenv.Play { p := testenv.Succeed(c); p.PodGone = true; return p },
			check: func(t *testing.T, o moverjob.Outcome) {
				t.Helper()
				assert.Equal(t, moverjob.ResultLost, o.State)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			env.Mover(tc.play)
			job := bootstrapJob(t, env)
			env.Create(job)
			var o moverjob.Outcome
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				require.NoError(c, env.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
				var pods corev1.PodList
				require.NoError(c, env.Client.List(t.Context(), &pods, client.InNamespace(env.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}))
				o = moverjob.Decide(job, pods.Items, time.Minute, job.CreationTimestamp.Time)
				assert.True(c, o.Terminal)
			}, testenv.Wait, testenv.Tick)
			tc.check(t, o)
		})
	}
}

func TestLogsComeThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	hold := make(chan struct{})
	defer close(hold)
	env.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		p.Log = []work.Event{{Type: work.EventProgress, Progress: &work.Progress{BytesProcessed: 42}}}
		return p
	})
	job := bootstrapJob(t, env)
	env.Create(job)
	logs, err := moverjob.NewPodLogs(env.Config)
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		tail, err := moverjob.ReadTail(t.Context(), logs, env.Namespace, job.Name+"-1")
		require.NoError(c, err)
		require.NotNil(c, tail.Progress)
		assert.Equal(c, int64(42), tail.Progress.BytesProcessed)
	}, testenv.Wait, testenv.Tick)
}

func bootstrapJob(t *testing.T, env *testenv.Env) *batchv1.Job {
	t.Helper()
	r := &kopiurv1.Repository{}
	r.Name, r.Namespace, r.UID = "nas", env.Namespace, "uid"
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "b"}
	r.Spec.Encryption.PasswordSecretRef.Name = "password"
	job, err := moverjob.Build(moverjob.Request{
		Owner: r, GVK: kopiurv1.GroupVersion.WithKind("Repository"), Letter: "r", Attempt: "1", Namespace: env.Namespace,
		Image: moverjob.Images{Mover: "localhost/kopiur/mover:test"}, Repository: moverjob.FromRepository(r),
		Operation: work.Operation{Bootstrap: &work.Bootstrap{}},
	})
	require.NoError(t, err)
	return job
}
