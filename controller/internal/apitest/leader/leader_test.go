// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader_test runs elections on a real API server.
package leader_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kopiur/kopiur/controller/internal/leader"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// short timings: the Lease counts in whole seconds.
func short() leader.Config {
	return leader.Config{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RenewPeriod: 300 * time.Millisecond, RetryPeriod: 200 * time.Millisecond}
}

// replica is one process that wants to lead.
type replica struct {
	leading atomic.Bool
	ended   chan error
	stop    context.CancelFunc
}

// start starts a replica. together counts those that work at the same time.
func start(t *testing.T, cfg *rest.Config, namespace, name string, together *atomic.Int32) *replica {
	t.Helper()
	leases, err := leader.NewLeases(cfg, namespace, "kopiur")
	require.NoError(t, err)
	e, err := leader.New(leases, short(), name, clock.RealClock{}, logr.Discard())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{ended: make(chan error, 1), stop: cancel}
	go func() {
		r.ended <- e.Run(ctx, func(ctx context.Context) error {
			if together.Add(1) > 1 {
				t.Error("two replicas work at the same time")
			}
			r.leading.Store(true)
			<-ctx.Done()
			r.leading.Store(false)
			together.Add(-1)
			return nil
		})
	}()
	t.Cleanup(cancel)
	return r
}

func leads(t *testing.T, r *replica) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.True(c, r.leading.Load()) }, testenv.Wait, testenv.Tick)
}

func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	own := env.Operator()
	var together atomic.Int32
	a := start(t, own, env.Namespace, "pod-a", &together)
	leads(t, a)
	b := start(t, own, env.Namespace, "pod-b", &together)

	// A graceful end hands over at once, not after the Lease has run out.
	began := time.Now()
	a.stop()
	require.NoError(t, <-a.ended)
	leads(t, b)
	assert.Less(t, time.Since(began), 2*time.Second)

	// The former leader comes back and stands by.
	again := start(t, own, env.Namespace, "pod-a", &together)
	client := leasesOf(t, env)
	before := lease(t, client)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NotEqual(c, before.Spec.RenewTime, lease(t, client).Spec.RenewTime)
	}, testenv.Wait, testenv.Tick)
	assert.False(t, again.leading.Load())

	// Somebody deletes the Lease: that proves nothing, so the leader ends, and another one may start.
	require.NoError(t, client.Delete(t.Context(), "kopiur", metav1.DeleteOptions{}))
	select {
	case err := <-b.ended:
		require.ErrorIs(t, err, leader.ErrLost)
	case <-time.After(testenv.Wait):
		t.Fatal("the leader goes on without its Lease")
	}
	leads(t, again)
}

func TestAMissingPermissionEndsTheProcess(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	cfg := rest.CopyConfig(env.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "nobody-in-particular"}
	var together atomic.Int32
	r := start(t, cfg, env.Namespace, "pod-a", &together)
	select {
	case err := <-r.ended:
		require.ErrorContains(t, err, `cannot get resource "leases"`)
	case <-time.After(testenv.Wait):
		t.Fatal("it waits for a permission in silence")
	}
	assert.False(t, r.leading.Load())
}

func leasesOf(t *testing.T, env *testenv.Env) coordinationclient.LeaseInterface {
	t.Helper()
	c, err := coordinationclient.NewForConfig(env.Config)
	require.NoError(t, err)
	return c.Leases(env.Namespace)
}

func lease(t *testing.T, c coordinationclient.LeaseInterface) *coordinationv1.Lease {
	t.Helper()
	l, err := c.Get(t.Context(), "kopiur", metav1.GetOptions{})
	require.NoError(t, err)
	return l
}
