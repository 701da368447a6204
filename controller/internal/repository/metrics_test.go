// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

// lists answers with one repository of each kind.
type lists struct {
	client.Reader

	own, cluster kopiurv1.RepositoryStatus
}

func (l lists) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch into := list.(type) {
	case *kopiurv1.RepositoryList:
		r := kopiurv1.Repository{Status: l.own}
		r.Namespace, r.Name = "apps", "nas"
		into.Items = append(into.Items, r)
	case *kopiurv1.ClusterRepositoryList:
		r := kopiurv1.ClusterRepository{Status: l.cluster}
		r.Name = "offsite"
		into.Items = append(into.Items, r)
	}
	return nil
}

func TestGauges(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	c := lists{
		own: kopiurv1.RepositoryStatus{
			Phase:        kopiurv1.RepositoryDegraded,
			Health:       &kopiurv1.RepositoryHealth{ConnectSeconds: 7, ConsecutiveProbeFailures: 4},
			Catalog:      &kopiurv1.CatalogStatus{LastRefreshAt: "2026-03-05T09:00:00Z", DiscoveredBackupCount: 419},
			StorageStats: &kopiurv1.StorageStats{SnapshotCount: 12, TotalSizeBytes: 5 << 30, IndexBlobCount: 1448},
			Conditions:   []metav1.Condition{{Type: kopiurv1.ConditionReady, LastTransitionTime: metav1.NewTime(since)}},
		},
		cluster: kopiurv1.RepositoryStatus{Phase: kopiurv1.RepositoryPending},
	}
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(c, reg, Gauges())))
	const nas = `{kind="Repository",name="nas",namespace="apps"} `
	for name, want := range map[string]string{
		"kopiur_repo_size_bytes":                                 "5.36870912e+09",
		"kopiur_repo_snapshot_count":                             "12",
		"kopiur_repo_discovered_snapshots":                       "419",
		"kopiur_repository_index_blobs":                          "1448",
		"kopiur_repository_connect_seconds":                      "7",
		"kopiur_repository_health_probe_failures":                "4",
		"kopiur_repository_breaker_open_since_timestamp_seconds": "1.7727012e+09",
	} {
		var got strings.Builder
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			assert.Len(t, f.GetMetric(), 1, "a repository that was never measured has no %s", name)
			got.WriteString("# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " gauge\n")
		}
		assert.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(got.String()+name+nas+want+"\n"), name))
	}
}
