// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// parts of a web UI are what carries its labels, wherever that is.
func parts(c *assert.CollectT, env *testenv.Env, r *repository) (deployments, services, secrets int) {
	ours := client.MatchingLabels{kopiurv1.LabelComponent: kopiurv1.ComponentServer, kopiurv1.LabelOwnerUID: string(r.GetUID())}
	var (
		d appsv1.DeploymentList
		s corev1.ServiceList
		x corev1.SecretList
	)
	require.NoError(c, env.Client.List(env.T.Context(), &d, ours))
	require.NoError(c, env.Client.List(env.T.Context(), &s, ours))
	require.NoError(c, env.Client.List(env.T.Context(), &x, ours))
	return len(d.Items), len(s.Items), len(x.Items)
}

// mostServerWrites bounds the kill points: that of a ClusterRepository takes some eight writes.
const mostServerWrites = 11

// dies runs a controller until its n-th write, or until it has nothing left to do.
func dies(t *testing.T, env *testenv.Env, n int, done func(c *assert.CollectT)) *testenv.Kill {
	t.Helper()
	kill := env.KillAfter(n)
	mortal := env.StartController(serving)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		select {
		case <-kill.Dead():
		default:
			done(c)
		}
	}, testenv.Wait, testenv.Tick)
	mortal.Stop()
	kill.Survives(t, n, mostServerWrites)
	env.Spare()
	return kill
}

// TestAServerKilledAfterAnyWrite kills the controller after its first, second, … write of a web UI that is made, and again of
// one that is taken away. The next one comes to the same end: one of each object, a password that is made once, and
// afterwards nothing.
func TestAServerKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	for _, n := range testenv.KillPoints(mostServerWrites, 2, 4, 6) {
		t.Run("after write "+strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
				t.Helper()
				namespace, secrets := env.Namespace, 1
				if _, cluster := r.Object.(*kopiurv1.ClusterRepository); cluster {
					namespace, secrets = env.AddNamespace(), 2 // and a copy of the credentials
				}
				env.Create(r.Object)
				first := env.StartController(serving)
				r.looked(t, env, 1)
				first.Stop()

				env.Change(r.Object, func() {
					r.spec.Server = &kopiurv1.ServerSpec{}
					if secrets == 2 {
						r.spec.Server.Namespace = namespace
					}
				})
				kill := dies(t, env, n, func(c *assert.CollectT) {
					env.GetC(c, r.Object)
					require.Equal(c, kopiurv1.ReasonServerStarting, testenv.Condition(r.status.Conditions, kopiurv1.ConditionServerAvailable).Reason)
				})
				u := uiOf(r, namespace)
				var password []byte
				if env.Client.Get(t.Context(), client.ObjectKeyFromObject(u.auth), u.auth) == nil {
					password = u.auth.Data["password"]
				}
				third := env.StartController(serving)
				r.says(t, env, kopiurv1.ReasonServerStarting)
				answers(t, env, u.deployment)
				r.says(t, env, kopiurv1.ReasonServerAvailable)
				require.EventuallyWithT(t, func(c *assert.CollectT) {
					deployments, services, have := parts(c, env, r)
					require.Equal(c, []int{1, 1, secrets}, []int{deployments, services, have}, "killed after %v", kill.Writes())
				}, testenv.Wait, testenv.Tick)
				env.Get(u.auth)
				if password != nil {
					assert.Equal(t, password, u.auth.Data["password"], "killed after %v", kill.Writes())
				}
				env.Get(r.Object)
				env.Quiet(r.Object, 500*time.Millisecond)
				third.Stop()

				env.Change(r.Object, func() { r.spec.Server = nil })
				kill = dies(t, env, n, func(c *assert.CollectT) {
					env.GetC(c, r.Object)
					require.Equal(c, r.GetGeneration(), r.status.ObservedGeneration)
				})
				env.StartController(serving)
				require.EventuallyWithT(t, func(c *assert.CollectT) {
					env.GetC(c, r.Object)
					require.Nil(c, r.status.Server)
					require.Empty(c, testenv.Condition(r.status.Conditions, kopiurv1.ConditionServerAvailable))
					require.NotContains(c, r.GetFinalizers(), kopiurv1.FinalizerServer)
					deployments, services, have := parts(c, env, r)
					require.Equal(c, []int{0, 0, 0}, []int{deployments, services, have}, "killed after %v", kill.Writes())
				}, testenv.Wait, testenv.Tick)
			})
		})
	}
}
