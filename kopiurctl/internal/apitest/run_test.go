// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// asked is when the clock of these tests stands.
const asked = "2026-03-05T09:00:00Z"

func maintenance(name, of string) *kopiurv1.Maintenance {
	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.Repository = kopiurv1.RepositoryRef{Name: of}
	m.Spec.Schedule = kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "0 */6 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}}
	m.Spec.Ownership.Owner = "kopiur/apps/" + of
	return m
}

func mirror(name string) *kopiurv1.RepositoryReplication {
	r := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "nas"}
	r.Spec.Destination = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "copy"}}
	r.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 * * *"}
	return r
}

func manual(at string, phase kopiurv1.RunPhase) kopiurv1.ManualRun {
	return kopiurv1.ManualRun{RequestedAt: at, Phase: phase}
}

func TestMaintenanceRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := maintenance("nas", "nas")
	w.create(m)
	w.run("maintenance", "run", "--full").golden("maintenance-run")
	w.get(m)
	assert.Equal(t, asked, m.Annotations[kopiurv1.AnnotationRunRequested])
	assert.Equal(t, "full", m.Annotations[kopiurv1.AnnotationRunMode])

	// What a quick run does, the full one that is open does as well.
	w.run("maintenance", "run", "--repository", "nas").golden("maintenance-run-open")
	w.get(m)
	assert.Equal(t, "full", m.Annotations[kopiurv1.AnnotationRunMode])
	w.status(m, func() {
		m.Status.ManualRun = &kopiurv1.MaintenanceManualRun{ManualRun: manual(asked, kopiurv1.RunSucceeded), Mode: kopiurv1.MaintenanceFull}
	})
	r := w.run("maintenance", "run", "-o", "json")
	require.Equal(t, cli.OK, r.code, r.stderr)
	var got kopiurv1.Maintenance
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	assert.Equal(t, "2026-03-05T09:00:01Z", got.Annotations[kopiurv1.AnnotationRunRequested], "another run needs another time, within the same second too")
	assert.Equal(t, "quick", got.Annotations[kopiurv1.AnnotationRunMode])
}

// TestMaintenanceRunFindsIt wherever it lies.
func TestMaintenanceRunFindsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.clusterRepository("offsite-" + w.namespace)
	there := maintenance("upkeep", cluster.Name)
	there.Namespace = w.addNamespace()
	there.Spec.Repository.Kind = kopiurv1.KindClusterRepository
	w.create(there)
	r := w.run("maintenance", "run", "--repository", cluster.Name, "--repository-kind", "ClusterRepository")
	require.Equal(t, cli.OK, r.code, r.stderr)
	w.get(there)
	assert.Equal(t, asked, there.Annotations[kopiurv1.AnnotationRunRequested])
}

func TestMaintenanceRunRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("maintenance", "run").golden("maintenance-run-none")
	archive := repository("archive")
	archive.Spec.Mode = kopiurv1.ModeReadOnly
	w.create(repository("bare"), archive, maintenance("nas", "nas"), maintenance("tape", "tape"))
	for name, args := range map[string][]string{
		"several":       {},
		"unknown":       {"--repository", "bar"},
		"unmaintained":  {"--repository", "bare"},
		"read-only":     {"--repository", "archive"},
		"kind":          {"--repository", "nas", "--repository-kind", "Bucket"},
		"no-name":       {"--repository-kind", "ClusterRepository"},
		"timeout-alone": {"--repository", "nas", "--timeout", "1m"},
	} {
		w.run(append([]string{"maintenance", "run"}, args...)...).golden("maintenance-run-" + name)
	}
	w.as("mallory").run("maintenance", "run").golden("maintenance-run-forbidden")
}

func TestMaintenanceRunWaits(t *testing.T) {
	t.Parallel()
	ready := func(m *kopiurv1.Maintenance, status metav1.ConditionStatus, reason, message string) {
		m.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, status, reason, message)}
	}
	ended := func(m *kopiurv1.Maintenance, phase kopiurv1.RunPhase) {
		m.Status.ManualRun = &kopiurv1.MaintenanceManualRun{ManualRun: manual(asked, phase), Mode: kopiurv1.MaintenanceFull}
		m.Status.ManualRun.CompletedAt = asked
	}
	for name, tc := range map[string]struct {
		end  func(*kopiurv1.Maintenance)
		code cli.Code
	}{
		"succeeded": {func(m *kopiurv1.Maintenance) {
			ended(m, kopiurv1.RunSucceeded)
			m.Status.Full = &kopiurv1.MaintenanceRunStatus{Message: "1048576 bytes in 3 blobs were given back; there are 7 index blobs"}
		}, cli.OK},
		"failed": {func(m *kopiurv1.Maintenance) {
			ended(m, kopiurv1.RunFailed)
			m.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: "RepositoryUnavailable", Message: "the store does not answer"}
		}, cli.Failed},
		"yielded": {func(m *kopiurv1.Maintenance) {
			ended(m, kopiurv1.RunFailed)
			ready(m, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceYielding, "maintenance is left to root@laptop")
		}, cli.Failed},
		"stalled": {func(m *kopiurv1.Maintenance) {
			ready(m, metav1.ConditionFalse, kopiurv1.ReasonInvalidSchedule, "spec.schedule.full: cron: write 5 fields")
			stalled := condition(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSchedule, "spec.schedule.full: cron: write 5 fields")
			stalled.ObservedGeneration = m.Generation
			m.Status.Conditions = append(m.Status.Conditions, stalled)
		}, cli.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := maintenance("nas", "nas")
			w.create(m)
			c := w.start(t.Context(), "maintenance", "run", "--full", "--wait")
			c.says(t, "nas  Pending")
			w.status(m, func() {
				ready(m, metav1.ConditionFalse, kopiurv1.ReasonMaintenanceWaiting, "the same store is being maintained by Job apps/m-twin")
			})
			c.says(t, "maintained by Job apps/m-twin")
			w.status(m, func() { tc.end(m) })
			r := c.wait()
			r.t = t
			assert.Equal(t, tc.code, r.code)
			r.golden("maintenance-run-" + name)
		})
	}
}

func TestRunWaitEndsOtherwise(t *testing.T) {
	t.Parallel()
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create(maintenance("nas", "nas"))
		w.run("maintenance", "run", "--wait", "--timeout", "1s").golden("maintenance-run-timeout")
	})
	t.Run("by a key", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create(maintenance("nas", "nas"))
		ctx, cancel := context.WithCancel(t.Context())
		c := w.start(ctx, "maintenance", "run", "--wait")
		c.says(t, "nas  Pending")
		cancel()
		r := c.wait()
		assert.Equal(t, cli.Failed, r.code)
		assert.Contains(t, r.stderr, "it goes on")
	})
	t.Run("by somebody else's request", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		m := maintenance("nas", "nas")
		w.create(m)
		c := w.start(t.Context(), "maintenance", "run", "--wait")
		c.says(t, "nas  Pending")
		w.get(m)
		m.Annotations[kopiurv1.AnnotationRunRequested] = "2026-03-05T10:00:00Z"
		require.NoError(t, w.client.Update(t.Context(), m))
		r := c.wait()
		assert.Equal(t, cli.Failed, r.code)
		assert.Contains(t, r.stderr, "somebody has asked Maintenance nas for another run")
	})
	t.Run("with the object", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		m := maintenance("nas", "nas")
		w.create(m)
		c := w.start(t.Context(), "maintenance", "run", "--wait")
		c.says(t, "nas  Pending")
		require.NoError(t, w.client.Delete(t.Context(), m))
		r := c.wait()
		assert.Equal(t, cli.Failed, r.code)
		assert.Contains(t, r.stderr, "was deleted")
	})
}

func TestReplicationRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blobs, snaps := mirror("ctl-offsite"), snapshotReplication("selected")
	w.create(blobs, snaps, mirror("both"), snapshotReplication("both"))
	c := w.start(t.Context(), "replication", "run", "ctl-offsite", "--wait")
	c.says(t, "ctl-offsite  Pending")
	w.status(blobs, func() {
		blobs.Status.ManualRun = new(manual(asked, kopiurv1.RunRunning))
	})
	c.says(t, "ctl-offsite  Running")
	w.status(blobs, func() {
		blobs.Status.ManualRun = new(manual(asked, kopiurv1.RunSucceeded))
		blobs.Status.LastReplicatedBlobs, blobs.Status.LastReplicatedBytes = new(int64(12)), new(int64(3<<20))
	})
	c.wait().golden("replication-run-wait")

	w.run("replication", "run", "selected").golden("replication-run-of-snapshots")
	w.get(snaps)
	assert.Equal(t, asked, snaps.Annotations[kopiurv1.AnnotationRunRequested])
	assert.NotContains(t, snaps.Annotations, kopiurv1.AnnotationRunMode)

	w.run("replication", "run", "both").golden("replication-run-ambiguous")
	r := w.run("replication", "run", "both", "--kind", "repository")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	for name, args := range map[string][]string{
		"unknown": {"ctl-offsit"},
		"kind":    {"ctl-offsite", "--kind", "blob"},
		"other":   {"ctl-offsite", "--kind", "snapshot"},
	} {
		w.run(append([]string{"replication", "run"}, args...)...).golden("replication-run-" + name)
	}
	w.get(blobs)
	blobs.Spec.Suspend = true
	require.NoError(t, w.client.Update(t.Context(), blobs))
	w.run("replication", "run", "ctl-offsite").golden("replication-run-suspended")
}
