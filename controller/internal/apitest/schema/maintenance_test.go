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

	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const leastMaintenance = `
repository: {name: nas}
schedule: {quick: {cron: "0 */6 * * *"}, full: {cron: "0 3 * * *"}}
ownership: {owner: kopiur/apps/nas}
`

const fullMaintenance = `
repository: {name: nas, kind: Repository, namespace: apps}
schedule:
  quick: {cron: "H */6 * * *", jitter: 30m, timezone: Europe/Berlin}
  full: {cron: "H H * * *", jitter: 1h, timezone: UTC}
  timezone: America/New_York
ownership: {owner: kopiur/apps/nas, ownerAliases: [kopiur@old], takeoverPolicy: PromptCondition}
mover: {resources: {limits: {memory: 1Gi}}, privilegedMode: false}
failurePolicy: {backoffLimit: 0, activeDeadlineSeconds: 7200, podStartupDeadlineSeconds: 60}
credentialProjection: {enabled: true}
`

// nameIsALabel checks that a name of 64 characters is refused for a new object.
func nameIsALabel(t *testing.T, env *testenv.Env, o *unstructured.Unstructured) {
	t.Helper()
	for length, want := range map[int]string{63: "", 64: "metadata.name must have at most 63 characters"} {
		named := o.DeepCopy()
		named.SetName(strings.Repeat("a", length))
		says(t, dryRun(t, env, named), want)
	}
}

func TestMaintenanceRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Maintenance", "nas", leastMaintenance)
	nameIsALabel(t, env, base)
	check(t, env, base, rows{
		"everything passes":              {fullMaintenance, ""},
		"a ClusterRepository passes":     {`repository: {name: nas, kind: ClusterRepository}`, ""},
		"a ClusterRepository elsewhere":  {`repository: {name: nas, kind: ClusterRepository, namespace: apps}`, "namespace must not be set when kind is ClusterRepository"},
		"a repository is a must":         {`repository: null`, "spec.repository"},
		"a schedule is a must":           {`schedule: null`, "spec.schedule"},
		"quick is a must":                {`schedule: {full: {cron: "0 3 * * *"}}`, "spec.schedule.quick: Required"},
		"full is a must":                 {`schedule: {quick: {cron: "0 3 * * *"}}`, "spec.schedule.full: Required"},
		"a run has a cron":               {`schedule: {quick: {}, full: {cron: "0 3 * * *"}}`, "spec.schedule.quick.cron: Required"},
		"a cron is not empty":            {`schedule: {quick: {cron: ""}, full: {cron: "0 3 * * *"}}`, "spec.schedule.quick.cron"},
		"an owner is a must":             {`ownership: {}`, "spec.ownership.owner: Required"},
		"an owner is not empty":          {`ownership: {owner: ""}`, "spec.ownership.owner"},
		"an ownership is a must":         {`ownership: null`, "spec.ownership"},
		"no aliases are an empty list":   {`ownership: {owner: o, ownerAliases: []}`, ""},
		"a takeover by force passes":     {`ownership: {owner: o, takeoverPolicy: Force}`, ""},
		"a takeover that is none":        {`ownership: {owner: o, takeoverPolicy: Always}`, "spec.ownership.takeoverPolicy"},
		"a user from a workload passes":  {`mover: {inheritSecurityContextFrom: {workloadSelector: {podSelector: {matchLabels: {a: b}}}}}`, ""},
		"it cannot be suspended":         {`suspend: true`, `unknown field "spec.suspend"`},
		"a schedule is not jitter alone": {`schedule: {jitter: 1h, quick: {cron: "0 3 * * *"}, full: {cron: "0 3 * * *"}}`, `unknown field "spec.schedule.jitter"`},
	})
}

func TestMaintenanceDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Maintenance", "nas", leastMaintenance)
	want := `
repository: {name: nas, kind: Repository}
schedule: {quick: {cron: "0 */6 * * *"}, full: {cron: "0 3 * * *"}}
ownership: {owner: kopiur/apps/nas, takeoverPolicy: Never}
`
	defaults(t, env, base.DeepCopy(), want)
	defaults(t, env, with(t, base, `{ownership: {owner: kopiur/apps/nas, takeoverPolicy: null}, credentialProjection: {}, mover: {}, failurePolicy: {}}`), want+`
credentialProjection: {enabled: false}
mover: {}
failurePolicy: {}
`)
}

func TestMaintenanceNulls(t *testing.T) {
	t.Parallel()
	nulls(t, testenv.New(t), "maintenances", manifest(t, "Maintenance", "nas", fullMaintenance))
}

func TestMaintenanceUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "Maintenance", "nas", fullMaintenance), rows{
		"the same":                       {fullMaintenance, ""},
		"another repository":             {`repository: {name: other}`, ""},
		"another owner":                  {`ownership: {owner: other}`, ""},
		"an old client drops new fields": {`{credentialProjection: null, failurePolicy: null}`, ""},
	})
}

func TestMaintenanceOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		strings.Repeat("long-", 13) + "name": leastMaintenance,
		"no-cron":                            `schedule: {quick: {cron: ""}, full: {cron: "0 3 * * *"}}`,
		"no-owner":                           `ownership: {owner: ""}`,
		"odd-namespace":                      `repository: {name: nas, kind: ClusterRepository, namespace: apps}`,
	} {
		old[name] = with(t, manifest(t, "Maintenance", name, leastMaintenance), fragment)
	}
	olderThanTheRules(t, env, "maintenances", old)
}

// TestALongNameStaysEditable: the length of a name is judged once. Nobody could put anything right otherwise.
func TestALongNameStaysEditable(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	o := manifest(t, "Maintenance", strings.Repeat("a", 70), leastMaintenance)
	olderThanTheRules(t, env, "maintenances", map[string]*unstructured.Unstructured{"long": o})
	require.NoError(t, env.Client.Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ownership":{"owner":"other"}}}`))))
}

func TestMaintenanceColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Repository", "Owner", "Age"}, columns(t, env, "maintenances"))
	names(t, env, "maintenances", "kopiamaint")
}
