// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

// cache answers lists.
type cache struct {
	client.Reader

	repositories []kopiurv1.Repository
	snapshots    []kopiurv1.Snapshot
}

func (c *cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *kopiurv1.RepositoryList:
		l.Items = c.repositories
	case *kopiurv1.SnapshotList:
		l.Items = c.snapshots
	}
	return nil
}

func snapshot(name string, phase kopiurv1.SnapshotPhase) kopiurv1.Snapshot {
	s := kopiurv1.Snapshot{}
	s.Namespace, s.Name, s.Status.Phase = "apps", name, phase
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	return s
}

func TestOnlyThePresentPhaseIsTold(t *testing.T) {
	t.Parallel()
	nas := kopiurv1.Repository{}
	nas.Namespace, nas.Name, nas.Status.Phase = "apps", "nas", kopiurv1.RepositoryReady
	c := &cache{
		repositories: []kopiurv1.Repository{nas, {}},
		snapshots:    []kopiurv1.Snapshot{snapshot("one", kopiurv1.SnapshotRunning), snapshot("new", "")},
	}
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(c, reg, metrics.Phases())))
	told := func(lines ...string) {
		t.Helper()
		want := "# HELP kopiur_resource_phase 1 for the phase that an object is in.\n# TYPE kopiur_resource_phase gauge\n" + strings.Join(lines, "\n") + "\n"
		if len(lines) == 0 {
			want = ""
		}
		assert.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(want), "kopiur_resource_phase"))
	}
	told(
		`kopiur_resource_phase{kind="Repository",name="nas",namespace="apps",phase="Ready",policy=""} 1`,
		`kopiur_resource_phase{kind="Snapshot",name="one",namespace="apps",phase="Running",policy="web"} 1`,
	)
	c.repositories, c.snapshots = nil, []kopiurv1.Snapshot{snapshot("one", kopiurv1.SnapshotSucceeded)}
	told(`kopiur_resource_phase{kind="Snapshot",name="one",namespace="apps",phase="Succeeded",policy="web"} 1`)
	c.snapshots = nil
	told()
}

func TestASourceThatFailsLeavesTheOthers(t *testing.T) {
	t.Parallel()
	one := metrics.Gauge("kopiur_one", "One.")
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(&cache{}, reg,
		metrics.Source{Collect: func(context.Context, client.Reader, metrics.Emit) error { return errors.New("not synced") }},
		metrics.Source{Gauges: []*prometheus.Desc{one}, Collect: func(_ context.Context, _ client.Reader, emit metrics.Emit) error {
			emit(one, 1)
			return nil
		}},
	)))
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestGaugesEndWithTheirProcess(t *testing.T) {
	t.Parallel()
	nas := kopiurv1.Repository{}
	nas.Name, nas.Status.Phase = "nas", kopiurv1.RepositoryReady
	reg := prometheus.NewPedanticRegistry()
	c := metrics.NewCollector(&cache{repositories: []kopiurv1.Repository{nas}}, reg, metrics.Phases())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Start(ctx) }()
	require.Eventually(t, func() bool {
		n, err := testutil.GatherAndCount(reg)
		return err == nil && n == 1
	}, waitFor, tick)
	cancel()
	require.NoError(t, <-done)
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	assert.Zero(t, n)
}

const (
	waitFor = 10 * time.Second
	tick    = 10 * time.Millisecond
)
