// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

var (
	labels        = []string{"namespace", "name", "mode"}
	lastRun       = metrics.Gauge("kopiur_maintenance_last_run_timestamp_seconds", "End of the last run that maintained the repository.", labels...)
	lastReclaimed = metrics.Gauge("kopiur_maintenance_last_reclaimed_bytes", "What the last run deleted from the store.", labels...)
	failures      = metrics.Gauge("kopiur_maintenance_consecutive_failures", "Runs in a row that failed.", labels...)
	runs          = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_maintenance_runs_total",
		Help: "Runs that ended, by mode and outcome: succeeded, failed, yielded.",
	}, []string{"mode", "outcome"})
)

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(runs)
}

// count counts a run once its end is stored.
func count(p *loop.Patcher, w decide.World, plan decide.Plan) {
	p.Count(runs.WithLabelValues(string(w.Turn.Mode), plan.Ended).Inc)
}

// Gauges are about what Maintenances did.
func Gauges() metrics.Source {
	return metrics.Source{
		Gauges: []*prometheus.Desc{lastRun, lastReclaimed, failures},
		Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
			var list kopiurv1.MaintenanceList
			if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list maintenances: %w", err)
			}
			for i := range list.Items {
				m := &list.Items[i]
				tell(emit, m, kopiurv1.MaintenanceQuick, m.Status.Quick)
				tell(emit, m, kopiurv1.MaintenanceFull, m.Status.Full)
			}
			return nil
		},
	}
}

// tell emits what is known of one mode. What never was has no sample: 0 would be a statement.
func tell(emit metrics.Emit, m *kopiurv1.Maintenance, mode kopiurv1.MaintenanceMode, s *kopiurv1.MaintenanceRunStatus) {
	if s == nil {
		return
	}
	of := []string{m.Namespace, m.Name, string(mode)}
	if at, err := time.Parse(time.RFC3339, s.LastRunAt); err == nil {
		emit(lastRun, float64(at.Unix()), of...)
	}
	if s.LastContentReclaimedBytes != nil {
		emit(lastReclaimed, float64(*s.LastContentReclaimedBytes), of...)
	}
	if s.LastHandledAt != "" {
		emit(failures, float64(s.ConsecutiveFailures), of...)
	}
}
