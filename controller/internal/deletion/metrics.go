// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

var (
	deletions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_snapshot_deletions_total",
		Help: "Snapshots that went, by what became of their data: deleted, gone, nothing-stored, retained, orphaned.",
	}, []string{"outcome"})
	orphaned = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kopiur_orphaned_snapshots_total",
		Help: "Snapshots that went and left data that no object stands for any more.",
	})
	cascadeRetained = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kopiur_snapshots_cascade_retained_total",
		Help: "Snapshots that went after their schedule or policy, and whose data was kept for that.",
	})
	failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kopiur_snapshot_deletion_failures_total",
		Help: "Failed attempts to delete the data of a Snapshot.",
	})
	batchJobs = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kopiur_snapshot_delete_batch_jobs_total",
		Help: "Jobs that were started to delete stored data.",
	})
	batchMembers = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kopiur_snapshot_delete_batch_members_total",
		Help: "Members of these Jobs.",
	})
	pendingExternal = metrics.Gauge("kopiur_snapshot_deletions_pending_external",
		"Deletions of a repository's snapshots that are pending and not Kopiur's own.", "kind", "namespace", "name")
	held = metrics.Gauge("kopiur_snapshot_deletions_held",
		"Those of them that wait for an acknowledgement.", "kind", "namespace", "name")
)

// The registry is the one that the manager serves, and belongs to the process, as do these counters.
func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(deletions, orphaned, cascadeRetained, failures, batchJobs, batchMembers)
}

// CountRelease counts a Snapshot that went.
func CountRelease(p deletion.Plan) {
	deletions.WithLabelValues(p.Outcome).Inc()
	switch p.Reason {
	case kopiurv1.ReasonSnapshotOrphaned:
		orphaned.Inc()
	case kopiurv1.ReasonSnapshotRetainedOnPolicyDelete, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete:
		cascadeRetained.Inc()
	}
}

// CountFailure counts a failed attempt.
func CountFailure() { failures.Inc() }

// Gauges are about the deletions that are pending, by repository.
func Gauges() metrics.Source {
	return metrics.Source{Gauges: []*prometheus.Desc{pendingExternal, held}, Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
		var list kopiurv1.SnapshotList
		if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list snapshots: %w", err)
		}
		type count struct{ pending, held int }
		counts := map[kopiurv1.RepositoryRef]*count{}
		for i := range list.Items {
			s := &list.Items[i]
			ref := deletion.RepositoryOf(s)
			if ref == nil || !deletion.Counts(s) || deletion.Prune(s) {
				continue
			}
			if counts[*ref] == nil {
				counts[*ref] = &count{}
			}
			counts[*ref].pending++
			if deletion.MemberOf(s).Held {
				counts[*ref].held++
			}
		}
		for ref, n := range counts {
			labels := []string{string(ref.Kind), ref.Namespace, ref.Name}
			emit(pendingExternal, float64(n.pending), labels...)
			emit(held, float64(n.held), labels...)
		}
		return nil
	}}
}
