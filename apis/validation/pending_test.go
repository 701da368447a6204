// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestNotYetSupported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		into   runtime.Object
		spec   string
		blocks []string
		warns  []string
	}{
		"a repository with every default asks for nothing": {
			&kopiurv1.Repository{}, `{backend: {s3: {bucket: b}}, catalog: {refreshInterval: 1h}, deletionProtection: {threshold: 10}, maintenance: {enabled: true},
				health: {indexBlobWarnThreshold: 1000, probe: {enabled: true, failureThreshold: 3, interval: 30m, onFailure: Degrade}}, onNamespaceDelete: Orphan}`, nil, nil,
		},
		"every backend is carried out":                   {&kopiurv1.Repository{}, `{backend: {azure: {container: c}}}`, nil, nil},
		"a seed is carried out":                          {&kopiurv1.Repository{}, `{seed: {from: {repository: {name: mirror}}}}`, nil, nil},
		"identity rules are carried out":                 {&kopiurv1.ClusterRepository{}, `{identityDefaults: {cluster: east}}`, nil, nil},
		"a server is carried out":                        {&kopiurv1.Repository{}, `{server: {}}`, nil, nil},
		"another threshold is carried out":               {&kopiurv1.Repository{}, `{deletionProtection: {threshold: 0}}`, nil, nil},
		"a cache that is kept is carried out":            {&kopiurv1.Repository{}, `{moverDefaults: {cache: {mode: Persistent, storageClassName: fast}}}`, nil, nil},
		"a plain policy asks for nothing":                {&kopiurv1.SnapshotPolicy{}, `{repository: {name: nas}, sources: [{pvc: {name: data}, readOnly: true}], groupBy: VolumeGroupSnapshot, defaultDeletionPolicy: Delete}`, nil, nil},
		"claims are cut together":                        {&kopiurv1.SnapshotPolicy{}, `{sources: [{pvc: {name: a}}, {pvc: {name: b}}], groupBy: VolumeGroupSnapshot}`, nil, nil},
		"a Snapshot's group is carried out":              {&kopiurv1.Snapshot{}, `{source: {sourceIndex: 0, group: {namespace: apps, volumeGroupSnapshotName: g}}}`, nil, nil},
		"claims that are cut one by one ask for nothing": {&kopiurv1.SnapshotPolicy{}, `{sources: [{pvc: {name: a}}, {pvc: {name: b}}], groupBy: None}`, nil, nil},
		"every kind of source is carried out":            {&kopiurv1.SnapshotPolicy{}, `{sources: [{pvc: {name: a}}, {nfs: {server: s, path: /p}}, {stream: {fileName: f}}, {pvcSelector: {}}], groupBy: None}`, nil, nil},
		"hooks are carried out":                          {&kopiurv1.SnapshotPolicy{}, `{hooks: {beforeSnapshot: [{httpRequest: {url: "https://a"}}], afterSnapshot: []}}`, nil, nil},
		"retention is carried out":                       {&kopiurv1.SnapshotPolicy{}, `{retention: {keepDaily: 7}}`, nil, nil},
		"verification is carried out":                    {&kopiurv1.SnapshotPolicy{}, `{verification: {quick: {schedule: {cron: "0 0 * * *"}}, deep: {schedule: {cron: "0 0 * * 0"}}}}`, nil, nil},
		"an inherited user is carried out for backups":   {&kopiurv1.SnapshotPolicy{}, `{mover: {inheritSecurityContextFrom: {pvcConsumer: {}}}}`, nil, nil},
		"and for restores, with copied credentials":      {&kopiurv1.Restore{}, `{mover: {inheritSecurityContextFrom: {snapshot: {}}}, credentialProjection: {enabled: true}}`, nil, nil},
		"an unpinned Snapshot asks for nothing":          {&kopiurv1.Snapshot{}, `{policyRef: {name: data}, pin: false}`, nil, nil},
		"a pin is carried out":                           {&kopiurv1.Snapshot{}, `{pin: true}`, nil, nil},
		"a populator is carried out, of an identity too": {&kopiurv1.Restore{}, `{source: {identity: {username: a, hostname: b}}, target: {populator: {}}}`, nil, nil},
		"upkeep keeps its cache and takes over a user":   {&kopiurv1.Maintenance{}, `{mover: {cache: {mode: Persistent}, inheritSecurityContextFrom: {workloadSelector: {podSelector: {}}}}}`, nil, nil},
		"a copy keeps its cache and is verified":         {&kopiurv1.RepositoryReplication{}, `{mover: {cache: {mode: Persistent}}, verify: {schedule: {cron: "0 0 * * 0"}}}`, nil, nil},
		"a folder of a snapshot is carried out":          {&kopiurv1.Restore{}, `{subPath: photos}`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj := tc.into.DeepCopyObject()
			require.NoError(t, yaml.UnmarshalStrict([]byte("spec: "+tc.spec), obj))
			var blocks, warns []string
			for i, p := range NotYetSupported(obj) {
				assert.NotEmpty(t, p.Message())
				if p.Blocks {
					assert.Empty(t, warns, "what blocks comes first")
					blocks = append(blocks, p.Path)
				} else {
					warns = append(warns, p.Path)
				}
				if i == 0 && p.Blocks {
					assert.Equal(t, p, *Blocking(obj))
				}
			}
			assert.Equal(t, tc.blocks, blocks)
			assert.Equal(t, tc.warns, warns)
			if len(tc.blocks) == 0 {
				assert.Nil(t, Blocking(obj))
			}
		})
	}
}

const notYet = "../../docs/reference/not-yet.md"

var updateNotYet = flag.Bool("update-not-yet", false, "rewrite docs/reference/not-yet.md")

// People read the page before they migrate; it says of each field what the code says.
func TestPendingPageIsTrue(t *testing.T) {
	t.Parallel()
	want := pendingPage()
	if *updateNotYet {
		require.NoError(t, os.WriteFile(notYet, []byte(want), 0o600))
	}
	got, err := os.ReadFile(notYet)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "run: cd apis && go test ./validation -run TestPendingPageIsTrue -update-not-yet")
}

func pendingPage() string {
	var b strings.Builder
	b.WriteString("# Not carried out yet\n\n" +
		"The schema has every field, so that manifests apply whatever the release. What this release does not carry out is\n" +
		"never dropped in silence: admission warns, and where going on without it would store, restore or create something\n" +
		"other than what was asked for, the object is `Stalled` with reason `NotYetSupported` and nothing is done.\n")
	if len(pendingFields) == 0 {
		b.WriteString("\nThis release carries out every field.\n")
		return b.String()
	}
	b.WriteString("\n| kind | field | | without it |\n|---|---|---|---|\n")
	var rows []string
	kinds := map[string][]string{}
	for _, kind := range slices.Sorted(maps.Keys(pendingFields)) {
		for _, f := range pendingFields[kind] {
			what, value := "warning", ""
			if f.blocks {
				what = "Stalled"
			}
			if f.only != nil {
				value = fmt.Sprintf(": %v", f.only[0])
			}
			row := fmt.Sprintf("`%s%s` | %s | %s |\n", f.path, value, what, f.instead)
			if kinds[row] == nil {
				rows = append(rows, row)
			}
			kinds[row] = append(kinds[row], kind)
		}
	}
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s", strings.Join(kinds[row], ", "), row)
	}
	return b.String()
}

// A row whose path leads nowhere would let its field through in silence.
func TestEveryPendingPathIsInTheSchema(t *testing.T) {
	t.Parallel()
	for kind, fields := range pendingFields {
		raw, err := os.ReadFile("../../charts/kopiur/crds/kopiur.home-operations.com_" + plural(kind) + ".yaml")
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(raw, &crd))
		for _, f := range fields {
			at := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			for step := range strings.SplitSeq(f.path, ".") {
				if items, ok := at["items"].(map[string]any); ok {
					at = items
				}
				properties, _ := at["properties"].(map[string]any)
				next, ok := properties[step].(map[string]any)
				require.True(t, ok, "%s %s: no %s", kind, f.path, step)
				at = next
			}
		}
	}
}

func plural(kind string) string {
	lower := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(lower, "y"); ok {
		return stem + "ies"
	}
	return lower + "s"
}
