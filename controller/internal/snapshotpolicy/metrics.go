// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/metrics"
)

// Labels of what is told of one line of verification.
var lineLabels = []string{"namespace", "policy", "tier", "repository"}

var (
	verifiedAt = metrics.Gauge("kopiur_snapshot_verified_timestamp_seconds",
		"End of the last verification that read back what a policy has stored.", lineLabels...)
	verificationFailed = metrics.Gauge("kopiur_snapshot_verification_failed",
		"1 where the last answer of a verification was that stored data is missing, damaged or not as expected; 0 where it was not.", lineLabels...)
	verificationFailures = metrics.Gauge("kopiur_snapshot_verification_consecutive_failures",
		"Verifications in a row that did not succeed, for whatever reason.", lineLabels...)
	verifications = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kopiur_snapshot_verifications_total",
		Help: "Verifications that ended, by tier and outcome: Succeeded, Failed, Unproven, or none where there was nothing to verify.",
	}, []string{"tier", "outcome"})
)

func init() { //nolint:gochecknoinits // registered once per process, as controller-runtime does with its own
	ctrlmetrics.Registry.MustRegister(verifications)
}

// count counts a run once its end is stored.
func count(p *loop.Patcher, plan verify.Plan) {
	outcome := string(plan.Run.Outcome)
	if outcome == "" {
		outcome = "none"
	}
	p.Count(verifications.WithLabelValues(string(plan.Run.Tier), outcome).Inc)
}

// Gauges are about the verifications of policies.
func Gauges() metrics.Source {
	return metrics.Source{
		Gauges: []*prometheus.Desc{verifiedAt, verificationFailed, verificationFailures},
		Collect: func(ctx context.Context, c client.Reader, emit metrics.Emit) error {
			var list kopiurv1.SnapshotPolicyList
			if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list policies: %w", err)
			}
			for i := range list.Items {
				tell(emit, &list.Items[i])
			}
			return nil
		},
	}
}

// tell emits what the status of one policy knows. A line that never ended has no samples: 0 would be a statement.
func tell(emit metrics.Emit, p *kopiurv1.SnapshotPolicy) {
	for _, r := range p.Status.VerificationRuns {
		labels := []string{p.Namespace, p.Name, string(r.Tier), r.Repository.String()}
		if at, err := time.Parse(time.RFC3339, p.Status.VerificationStamps[verify.StampKey(r.Tier, r.Repository.In(p.Namespace))]); err == nil {
			emit(verifiedAt, float64(at.Unix()), labels...)
		}
		if r.LastRunAt == "" {
			continue
		}
		failed := 0.0
		if r.Outcome == kopiurv1.VerificationFailed {
			failed = 1
		}
		emit(verificationFailed, failed, labels...)
		emit(verificationFailures, float64(r.ConsecutiveFailures), labels...)
	}
}
