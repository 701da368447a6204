// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

var (
	labels     = []string{"namespace", "name"}
	lastCopied = metrics.Gauge("kopiur_repository_replication_last_success_timestamp_seconds", "End of the last complete copy of a repository.", labels...)
	failures   = metrics.Gauge("kopiur_repository_replication_consecutive_failures", "Copies in a row that failed.", labels...)
)

// Gauges are about what RepositoryReplications did.
func Gauges() metrics.Source {
	return metrics.Source{
		Gauges: []*prometheus.Desc{lastCopied, failures},
		Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
			var list kopiurv1.RepositoryReplicationList
			if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list repository replications: %w", err)
			}
			for i := range list.Items {
				r := &list.Items[i]
				// What never was has no sample: 0 would be a statement.
				if at, err := time.Parse(time.RFC3339, r.Status.LastReplicated); err == nil {
					emit(lastCopied, float64(at.Unix()), r.Namespace, r.Name)
				}
				if r.Status.LastReplicated != "" || r.Status.ConsecutiveFailures > 0 {
					emit(failures, float64(r.Status.ConsecutiveFailures), r.Namespace, r.Name)
				}
			}
			return nil
		},
	}
}
