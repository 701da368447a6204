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

func schedule(name, policy string) *kopiurv1.SnapshotSchedule {
	return &kopiurv1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kopiurv1.SnapshotScheduleSpec{
			PolicyRef: &kopiurv1.PolicyRef{Name: policy}, Schedule: kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: "0 4 * * *"}},
		},
		Status: kopiurv1.SnapshotScheduleStatus{
			Conditions:   []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionTrue, "Scheduled", "next at 04:00")},
			LastSchedule: &kopiurv1.ScheduleSlot{At: "2026-03-05T04:00:00Z"}, NextSchedule: &kopiurv1.ScheduleSlot{At: "2026-03-06T04:00:00Z"},
		},
	}
}

func snapshotReplication(name string) *kopiurv1.SnapshotReplication {
	r := &kopiurv1.SnapshotReplication{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "nas"}
	r.Spec.DestinationRef = kopiurv1.RepositoryRef{Name: "offsite"}
	r.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 * * *"}
	return r
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, sch, repo, repl := policy("data", "nas"), schedule("nightly", "data"), repository("nas"), snapshotReplication("copy")
	cluster := w.clusterRepository("offsite-" + w.namespace)
	w.create(p, sch, repo, repl)
	for _, tc := range []struct {
		kind, name string
		suspended  func() bool
	}{
		{"policy", "data", func() bool { w.get(p); return p.Spec.Suspend }},
		{"schedule", "nightly", func() bool { w.get(sch); return sch.Spec.Schedule.Suspend }},
		{"repository", "nas", func() bool { w.get(repo); return repo.Spec.Suspend }},
		{"cluster-repository", cluster.Name, func() bool { w.get(cluster); return cluster.Spec.Suspend }},
		{"replication", "copy", func() bool { w.get(repl); return repl.Spec.Suspend }},
		{"snapshot-replication", "copy", func() bool { w.get(repl); return repl.Spec.Suspend }},
	} {
		r := w.run("suspend", tc.kind, tc.name)
		require.Equal(t, cli.OK, r.code, r.stderr)
		assert.Regexp(t, `/`+tc.name+` suspended\n$`, r.stdout)
		assert.True(t, tc.suspended(), tc.kind)
		assert.Contains(t, w.run("suspend", tc.kind, tc.name).stdout, "suspended already")
		r = w.run("resume", tc.kind, tc.name)
		require.Equal(t, cli.OK, r.code, r.stderr)
		assert.Regexp(t, `/`+tc.name+` resumed\n$`, r.stdout)
		assert.False(t, tc.suspended(), tc.kind)
		assert.Contains(t, w.run("resume", tc.kind, tc.name).stdout, "resumed already")
	}
	w.run("suspend", "policy", "data").golden("suspend")
	r := w.run("resume", "policy", "data", "-o", "json")
	var got kopiurv1.SnapshotPolicy
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	w.get(p)
	p.TypeMeta, p.ManagedFields = got.TypeMeta, nil
	assert.Equal(t, p, &got)
}

func TestSuspendRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mirror := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Name: "copy"}}
	mirror.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "nas"}
	mirror.Spec.Destination = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "copy"}}
	mirror.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 * * *"}
	w.create(policy("data", "nas"), snapshotReplication("copy"), mirror)
	for name, args := range map[string][]string{
		"kind":      {"polcy", "data"},
		"kind-far":  {"volume", "data"},
		"name":      {"policy", "dat"},
		"no-name":   {"policy"},
		"ambiguous": {"replication", "copy"},
		"none":      {"schedule", "no-such-thing"},
	} {
		w.run(append([]string{"suspend"}, args...)...).golden("suspend-refuses-" + name)
	}
	w.as("mallory").run("suspend", "policy", "data").golden("suspend-forbidden")
}
