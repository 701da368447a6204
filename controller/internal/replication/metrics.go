// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

var (
	labels     = []string{"namespace", "name"}
	lastCopied = metrics.Gauge("kopiur_repository_replication_last_success_timestamp_seconds", "End of the last complete copy of a repository.", labels...)
	provenAt   = metrics.Gauge("kopiur_repository_replication_verified_timestamp_seconds", "End of the last verification that restored from a copy.", labels...)
	disproven  = metrics.Gauge("kopiur_repository_replication_verification_failed",
		"1 where the last answer of a verification was that a copy is missing or damaged; 0 where it was not.", labels...)
	unproven = metrics.Gauge("kopiur_repository_replication_verification_consecutive_failures",
		"Verifications of a copy in a row that did not succeed, for whatever reason.", labels...)
	proofs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_repository_replication_verifications_total",
		Help: "Verifications of copies that ended, by outcome: Succeeded, Failed, Unproven, or none where there was nothing to verify.",
	}, []string{"outcome"})
	failures = metrics.Gauge("kopiur_repository_replication_consecutive_failures", "Copies in a row that failed.", labels...)
)

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(proofs)
}

func outcomeOf(run kopiurv1.VerificationRun) string { return cmp.Or(string(run.Outcome), "none") }

// Gauges are about what RepositoryReplications did.
func Gauges() metrics.Source {
	return metrics.Source{
		Gauges: []*prometheus.Desc{lastCopied, failures, provenAt, disproven, unproven},
		Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
			var list kopiurv1.RepositoryReplicationList
			if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list repository replications: %w", err)
			}
			for i := range list.Items {
				r := &list.Items[i]
				tellProof(emit, r)
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

// tellProof emits what is known of the verification of a copy; without one that ended there are no samples.
func tellProof(emit metrics.Emit, r *kopiurv1.RepositoryReplication) {
	if at, err := time.Parse(time.RFC3339, r.Status.LastVerified); err == nil {
		emit(provenAt, float64(at.Unix()), r.Namespace, r.Name)
	}
	v := r.Status.Verification
	if v == nil || v.LastRunAt == "" {
		return
	}
	failed := 0.0
	if v.Outcome == kopiurv1.VerificationFailed {
		failed = 1
	}
	emit(disproven, failed, r.Namespace, r.Name)
	emit(unproven, float64(v.ConsecutiveFailures), r.Namespace, r.Name)
}
