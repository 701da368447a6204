// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var phase = Gauge("kopiur_resource_phase", "1 for the phase that an object is in.", "kind", "namespace", "name", "phase", "policy")

// Phases tells of every object of the kinds that have phases, and have a reconciler, in which it is.
func Phases() Source {
	return Source{Gauges: []*prometheus.Desc{phase}, Collect: func(ctx context.Context, c client.Reader, emit Emit) error {
		say := func(kind string, obj client.Object, of, policy string) {
			if of != "" {
				emit(phase, 1, kind, obj.GetNamespace(), obj.GetName(), of, policy)
			}
		}
		var repositories kopiurv1.RepositoryList
		var clusters kopiurv1.ClusterRepositoryList
		var snapshots kopiurv1.SnapshotList
		var restores kopiurv1.RestoreList
		for _, list := range []client.ObjectList{&repositories, &clusters, &snapshots, &restores} {
			// A copy of ten thousand Snapshots with every scrape would be most of the process's work.
			if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("list %T: %w", list, err)
			}
		}
		for i := range repositories.Items {
			o := &repositories.Items[i]
			say("Repository", o, string(o.Status.Phase), "")
		}
		for i := range clusters.Items {
			o := &clusters.Items[i]
			say("ClusterRepository", o, string(o.Status.Phase), "")
		}
		for i := range snapshots.Items {
			o := &snapshots.Items[i]
			policy := ""
			if o.Spec.PolicyRef != nil {
				policy = o.Spec.PolicyRef.Name
			}
			say("Snapshot", o, string(o.Status.Phase), policy)
		}
		for i := range restores.Items {
			o := &restores.Items[i]
			say("Restore", o, string(o.Status.Phase), "")
		}
		return nil
	}}
}
