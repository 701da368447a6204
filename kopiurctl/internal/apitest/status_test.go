// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

func busy(t *testing.T) (w *world, offsite string) {
	t.Helper()
	w = inUse(t)
	offsite = "offsite-" + w.namespace
	w.clusterRepository(offsite)
	broken := repository("broken")
	broken.Status.Phase = kopiurv1.RepositoryDegraded
	broken.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonBackendUnreachable, "the store does not answer; next try in 4 minutes")}
	broken.Status.StorageStats, broken.Status.Health = nil, nil
	web := policy("web", "nas")
	web.Spec.Repository = &kopiurv1.RepositoryRef{Name: offsite, Kind: kopiurv1.KindClusterRepository}
	web.Spec.Suspend = true
	web.Status.Conditions = append(web.Status.Conditions, condition(kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed,
		"quick verification of ClusterRepository "+offsite+": 1 files or folders of 2 snapshots are damaged"))
	run := snapshot("db-now", "db")
	run.Status.Phase = kopiurv1.SnapshotRunning
	run.Status.Progress = &kopiurv1.Progress{BytesProcessed: 1 << 30, BytesTotal: 4 << 30, FilesProcessed: 10, BytesPerSecond: 1 << 20, ETASeconds: 90}
	w.create(broken, web, run, schedule("nightly", "data"))
	return w, offsite
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w, offsite := busy(t)
	names := []string{offsite, "offsite-ctl-00000"}
	w.run("status").golden("status", names...)
	w.run("status", "-o", "wide").golden("status-wide", names...)
	w.run("status", "-o", "name").golden("status-name", names...)
	w.run("status", "--repository", "nas").golden("status-of-nas", names...)
	w.run("status", "--repository", offsite, "--repository-kind", "ClusterRepository").golden("status-of-cluster", names...)
	w.run("status", "--repository", "nass").golden("status-unknown", names...)
	w.run("status", "--repository-kind", "ClusterRepository").golden("status-no-name", names...)
	r := w.run("status", "-A")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Regexp(t, `(?m)^`+w.namespace+` +nas +Repository +Ready`, r.stdout)
}

func TestStatusOfHeldDeletions(t *testing.T) {
	t.Parallel()
	w, _ := incident(t)
	w.run("status").golden("status-held")
}

func TestStatusRoundTrips(t *testing.T) {
	t.Parallel()
	w, _ := busy(t)
	r := w.run("status", "-o", "json")
	require.Equal(t, cli.OK, r.code, r.stderr)
	var list metav1.List
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
	kinds := map[string]int{}
	for _, item := range list.Items {
		var meta metav1.TypeMeta
		require.NoError(t, json.Unmarshal(item.Raw, &meta))
		kinds[meta.Kind]++
	}
	assert.Equal(t, map[string]int{"Repository": 2, "ClusterRepository": 1, "SnapshotPolicy": 3, "SnapshotSchedule": 1, "Snapshot": 2}, kinds)
}

func TestStatusOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("status").golden("status-nothing")
	w.as("mallory").run("status").golden("status-forbidden")
}

// Whoever works in a namespace need not see what belongs to the whole cluster.
func TestStatusWithoutClusterRepositories(t *testing.T) {
	t.Parallel()
	w, _ := busy(t)
	user := "erin-" + w.namespace
	w.allow(user, []string{"get", "list"}, "repositories", "snapshots", "snapshotpolicies", "snapshotschedules")
	r := w.as(user).run("status")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Contains(t, r.stderr, "warning: you may not see ClusterRepositories")
	assert.Contains(t, r.stdout, "POLICIES")
}
