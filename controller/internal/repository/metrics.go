// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/metrics"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Labels of everything that is told of one repository; namespace is empty for a ClusterRepository.
const (
	labelKind      = "kind"
	labelNamespace = "namespace"
	labelName      = "name"
)

func labels(ref kopiurv1.RepositoryRef) []string {
	return []string{string(ref.KindOrDefault()), ref.Namespace, ref.Name}
}

func gauge(name, help string) *prometheus.Desc {
	return metrics.Gauge(name, help, labelKind, labelNamespace, labelName)
}

var (
	repoSize         = gauge("kopiur_repo_size_bytes", "Sum of the newest snapshot of every source in a repository.")
	repoSnapshots    = gauge("kopiur_repo_snapshot_count", "Complete snapshots in a repository.")
	repoDiscovered   = gauge("kopiur_repo_discovered_snapshots", "Snapshots that the last listing of a repository found and that belong to no policy, other clusters' aside.")
	indexBlobs       = gauge("kopiur_repository_index_blobs", "Index blobs of a repository: each makes a connect slower.")
	connectSeconds   = gauge("kopiur_repository_connect_seconds", "How long the last successful connect took.")
	probeFailures    = gauge("kopiur_repository_health_probe_failures", "Connects in a row that found the repository lost or out of reach.")
	backendFailures  = gauge("kopiur_repository_consecutive_backend_failures", "Connects in a row that did not succeed, for whatever reason.")
	breakerOpenSince = gauge("kopiur_repository_breaker_open_since_timestamp_seconds", "When a repository became Degraded; absent while it is not.")
	maintenanceSet   = gauge("kopiur_repository_maintenance_configured", "1 where a Maintenance takes care of a repository, 0 where none does.")
	breakerTrips     = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_repository_breaker_trips_total",
		Help: "How often failed probes have parked all who use a repository.",
	}, []string{labelKind, labelNamespace, labelName})
)

var seeds = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "kopiur_repository_seed_total",
	Help: "Seeds of new repositories that are over.",
}, []string{"mode", "outcome"})

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(breakerTrips, seeds)
}

// Gauges are those of both kinds.
func Gauges() metrics.Source {
	return metrics.Source{
		Gauges: []*prometheus.Desc{repoSize, repoSnapshots, repoDiscovered, indexBlobs, connectSeconds, probeFailures, backendFailures, breakerOpenSince, maintenanceSet},
		Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
			var own kopiurv1.RepositoryList
			var cluster kopiurv1.ClusterRepositoryList
			for _, list := range []client.ObjectList{&own, &cluster} {
				if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
					return fmt.Errorf("list %T: %w", list, err)
				}
			}
			for i := range own.Items {
				r := &own.Items[i]
				tell(emit, r.Status, labels(moverjob.FromRepository(r).Ref)...)
			}
			for i := range cluster.Items {
				r := &cluster.Items[i]
				tell(emit, r.Status, labels(moverjob.FromClusterRepository(r, "").Ref)...)
			}
			return nil
		},
	}
}

// tell emits what the status of one repository knows. What was never measured is left out: 0 would be a statement.
func tell(emit metrics.Emit, s kopiurv1.RepositoryStatus, of ...string) {
	if st := s.StorageStats; st != nil {
		emit(repoSize, float64(st.TotalSizeBytes), of...)
		emit(repoSnapshots, float64(st.SnapshotCount), of...)
		emit(indexBlobs, float64(st.IndexBlobCount), of...)
	}
	if c := s.Catalog; c != nil && c.LastRefreshAt != "" {
		emit(repoDiscovered, float64(c.DiscoveredBackupCount), of...)
	}
	if h := s.Health; h != nil {
		if h.ConnectSeconds > 0 {
			emit(connectSeconds, float64(h.ConnectSeconds), of...)
		}
		emit(probeFailures, float64(h.ConsecutiveProbeFailures), of...)
	}
	if j := s.Job; j != nil {
		emit(backendFailures, float64(j.Failures), of...)
	}
	for _, c := range s.Conditions {
		if c.Type == kopiurv1.ConditionMaintenanceConfigured {
			emit(maintenanceSet, map[bool]float64{true: 1}[c.Status == "True"], of...)
		}
	}
	if since, ok := degradedSince(s); ok {
		emit(breakerOpenSince, float64(since.Unix()), of...)
	}
}

// degradedSince is when a Degraded repository stopped to be Ready.
func degradedSince(s kopiurv1.RepositoryStatus) (time.Time, bool) {
	if s.Phase != kopiurv1.RepositoryDegraded {
		return time.Time{}, false
	}
	for _, c := range s.Conditions {
		if c.Type == kopiurv1.ConditionReady {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
