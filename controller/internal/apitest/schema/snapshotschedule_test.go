// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const leastSchedule = `
policyRef: {name: web}
schedule: {cron: "H 2 * * *"}
`

const fullSchedule = `
policyRef: {name: web, namespace: apps}
schedule: {cron: "H 2 * * *", jitter: 30m, timezone: Europe/Berlin, runOnCreate: true, suspend: true, concurrencyPolicy: Replace, startingDeadlineSeconds: 3600}
failedJobsHistoryLimit: 3
deletion: {onScheduleDelete: Delete}
`

func TestScheduleRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	check(t, env, manifest(t, "SnapshotSchedule", "nightly", leastSchedule), rows{
		"one policy":                    {``, ""},
		"everything":                    {fullSchedule, ""},
		"policies by their labels":      {`{policyRef: null, policySelector: {matchLabels: {tier: gold}, matchExpressions: [{key: a, operator: Exists}]}}`, ""},
		"all policies":                  {`{policyRef: null, policySelector: {}}`, ""},
		"no policy":                     {`policyRef: null`, "spec must have exactly one of policyRef, policySelector"},
		"one policy and others":         {`policySelector: {}`, "spec must have exactly one of policyRef, policySelector"},
		"one policy and null":           {`policySelector: null`, ""},
		"a policy as a name":            {`policyRef: web`, "spec.policyRef"},
		"no schedule":                   {`schedule: null`, "spec.schedule: Required"},
		"no cron":                       {`schedule: {}`, "spec.schedule.cron: Required"},
		"an expression that is short":   {`schedule: {cron: "* * *"}`, ""}, // the webhook's sentence says more
		"an expression that is empty":   {`schedule: {cron: ""}`, "spec.schedule.cron"},
		"a concurrency that is none":    {`schedule: {cron: "0 2 * * *", concurrencyPolicy: Queue}`, "spec.schedule.concurrencyPolicy"},
		"a negative deadline":           {`schedule: {cron: "0 2 * * *", startingDeadlineSeconds: -1}`, "startingDeadlineSeconds"},
		"a deadline of nothing":         {`schedule: {cron: "0 2 * * *", startingDeadlineSeconds: 0}`, ""},
		"less than no failed ones":      {`failedJobsHistoryLimit: -1`, "spec.failedJobsHistoryLimit"},
		"no failed ones":                {`failedJobsHistoryLimit: 0`, ""},
		"a limit of successful ones":    {`successfulJobsHistoryLimit: 3`, `unknown field "spec.successfulJobsHistoryLimit"`},
		"a cascade that orphans":        {`deletion: {onScheduleDelete: Orphan}`, "spec.deletion.onScheduleDelete"},
		"to suspend in the wrong place": {`suspend: true`, `unknown field "spec.suspend"`},
	})
	long := manifest(t, "SnapshotSchedule", strings.Repeat("a", 63), leastSchedule)
	says(t, dryRun(t, env, long), "")
	long.SetName(strings.Repeat("a", 64))
	says(t, dryRun(t, env, long), "metadata.name must have at most 63 characters")
}

func TestScheduleDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotSchedule", "nightly", leastSchedule)
	const want = `
policyRef: {name: web}
schedule: {cron: "H 2 * * *", runOnCreate: false, concurrencyPolicy: Forbid}
failedJobsHistoryLimit: 10
deletion: {onScheduleDelete: Retain}
`
	defaults(t, env, base.DeepCopy(), want)
	defaults(t, env, with(t, base, `{failedJobsHistoryLimit: null, deletion: {onScheduleDelete: null}, schedule: {cron: "H 2 * * *", runOnCreate: null}}`), want)
}

func TestScheduleNulls(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	nulls(t, env, "snapshotschedules", manifest(t, "SnapshotSchedule", "nightly", fullSchedule))
}

func TestScheduleUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "SnapshotSchedule", "nightly", fullSchedule), rows{
		"the same":                        {``, ""},
		"an old client that knows little": {`{schedule: {cron: "0 3 * * *"}, failedJobsHistoryLimit: null, deletion: null}`, ""},
		"policies instead of one":         {`{policyRef: null, policySelector: {matchLabels: {a: b}}}`, ""},
		"no policy any more":              {`policyRef: null`, "spec must have exactly one of"},
	})
}

func TestScheduleOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotSchedule", "nightly", leastSchedule)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		"no policy":           `policyRef: null`,
		"two ways":            `policySelector: {}`,
		"an empty expression": `schedule: {cron: ""}`,
		"a negative deadline": `schedule: {cron: "0 2 * * *", startingDeadlineSeconds: -1}`,
	} {
		o := with(t, base, fragment)
		o.SetName("old-" + string(rune('a'+len(old))))
		old[name] = o
	}
	long := base.DeepCopy()
	long.SetName(strings.Repeat("a", 64))
	old["a long name"] = long
	olderThanTheRules(t, env, "snapshotschedules", old)
}

// TestScheduleReadsTheOlderName: a status that another version wrote is read, and written in the newer form.
func TestScheduleReadsTheOlderName(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	stored := manifest(t, "SnapshotSchedule", "nightly", leastSchedule)
	namespaced(env, stored)
	require.NoError(t, env.Client.Create(t.Context(), stored))
	drop(t, env, stored)
	patch := []byte(`{"status":{"lastSchedule":{"scheduledAt":"2026-03-05T02:00:00Z","snapshotRef":{"name":"one"}}}}`)
	require.NoError(t, env.Client.Status().Patch(t.Context(), stored, client.RawPatch("application/merge-patch+json", patch)))
	at, _, err := unstructured.NestedString(stored.Object, "status", "lastSchedule", "scheduledAt")
	require.NoError(t, err)
	assert.Equal(t, "2026-03-05T02:00:00Z", at, "the schema keeps it")
	var s kopiurv1.SnapshotSchedule
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKeyFromObject(stored), &s))
	require.NotNil(t, s.Status.LastSchedule)
	assert.Equal(t, kopiurv1.ScheduleSlot{At: "2026-03-05T02:00:00Z", SnapshotRef: &kopiurv1.LocalRef{Name: "one"}}, *s.Status.LastSchedule)
}

func TestScheduleColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Config", "Schedule", "Suspended", "Age"}, columns(t, env, "snapshotschedules"))
	names(t, env, "snapshotschedules", "kopiasched")
}
