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

const leastSnapshot = `policyRef: {name: web}`

const fullSnapshot = `
policyRef: {name: web, namespace: apps}
repository: {name: nas, kind: Repository, namespace: apps}
source: {sourceIndex: 0, target: {pvc: {name: data, namespace: apps}}, group: {namespace: apps, volumeGroupSnapshotName: g}}
deletionPolicy: Retain
onScheduleDelete: Retain
pin: true
tags: {team: a}
description: before the upgrade
failurePolicy: {backoffLimit: 1, activeDeadlineSeconds: 3600, podStartupDeadlineSeconds: 60}
mover: {securityContext: {runAsUser: 1000}}
`

func TestSnapshotRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const ten = "a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x, j: x"
	check(t, env, manifest(t, "Snapshot", "one", leastSnapshot), rows{
		"nothing but the policy":     {``, ""},
		"everything":                 {fullSnapshot, ""},
		"nothing at all":             {`policyRef: null`, ""}, // rows of what was found in a repository have nothing
		"a policy as a name":         {`policyRef: web`, "spec.policyRef"},
		"a policy without a name":    {`policyRef: {}`, "spec.policyRef.name: Required"},
		"a name that is no label":    {`policyRef: {name: ` + strings.Repeat("a", 64) + `}`, "spec.policyRef.name"},
		"a source without its index": {`source: {}`, "spec.source.sourceIndex: Required"},
		"a source before the first":  {`source: {sourceIndex: -1}`, "spec.source.sourceIndex"},
		"the hundredth source":       {`source: {sourceIndex: 99}`, ""},
		"the source after that":      {`source: {sourceIndex: 100}`, "spec.source.sourceIndex"},
		"a target of nothing":        {`source: {sourceIndex: 0, target: {}}`, "spec.source.target.pvc: Required"},
		"a target of nowhere":        {`source: {sourceIndex: 0, target: {pvc: {name: data}}}`, "spec.source.target.pvc.namespace: Required"},
		"a group without a name":     {`source: {sourceIndex: 0, group: {namespace: apps}}`, "volumeGroupSnapshotName: Required"},
		"a deletion that is none":    {`deletionPolicy: Keep`, "spec.deletionPolicy"},
		"a cascade that orphans":     {`onScheduleDelete: Orphan`, "spec.onScheduleDelete"},
		"ten tags":                   {"tags: {" + ten + "}", ""},
		"eleven tags":                {"tags: {" + ten + ", k: x}", "spec.tags: Too many"},
		"a tag with a colon":         {`tags: {"a:b": c}`, "tags: keys have at most 63 characters, no colon"},
		"a value with a colon":       {`tags: {a: "b:c"}`, ""},
		"a tag of our own":           {`tags: {kopiur: c}`, "do not start with kopiur"},
		"a tag of 63":                {`tags: {` + strings.Repeat("a", 63) + `: c}`, ""},
		"a tag of 64":                {`tags: {` + strings.Repeat("a", 64) + `: c}`, "tags: keys have at most 63 characters"},
		"a value of 256":             {`tags: {a: ` + strings.Repeat("a", 256) + `}`, ""},
		"a value of 257":             {`tags: {a: ` + strings.Repeat("a", 257) + `}`, "values have at most 256 characters"},
		"a description of 1024":      {`description: ` + strings.Repeat("a", 1024), ""},
		"a description of 1025":      {`description: ` + strings.Repeat("a", 1025), "spec.description"},
		"a run without time":         {`failurePolicy: {activeDeadlineSeconds: 0}`, "spec.failurePolicy.activeDeadlineSeconds"},
		"a cluster's namespace":      {`repository: {name: nas, kind: ClusterRepository, namespace: apps}`, "namespace must not be set when kind is ClusterRepository"},
		"a mover from nobody":        {`mover: {inheritSecurityContextFrom: {}}`, "inheritSecurityContextFrom must have exactly one of"},
	})
	// Nobody's label: a Snapshot may have any name.
	says(t, dryRun(t, env, manifest(t, "Snapshot", strings.Repeat("a", 253), leastSnapshot)), "")
	bare := manifest(t, "Snapshot", "bare", leastSnapshot)
	delete(bare.Object, "spec")
	says(t, dryRun(t, env, bare), "")
}

func TestSnapshotDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	defaults(t, env, manifest(t, "Snapshot", "one", leastSnapshot), leastSnapshot)
	defaults(t, env, manifest(t, "Snapshot", "one", `repository: {name: nas}`), `repository: {name: nas, kind: Repository}`)
}

func TestSnapshotNulls(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	nulls(t, env, "snapshots", manifest(t, "Snapshot", "one", fullSnapshot))
}

func TestSnapshotUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "Snapshot", "one", fullSnapshot), rows{
		"the same":                        {``, ""},
		"an old client that knows little": {`{repository: null, source: {sourceIndex: 0}, deletionPolicy: null, onScheduleDelete: null, pin: null}`, ""},
		"nothing is left":                 {`{policyRef: null, repository: null, source: null, tags: null, mover: null, failurePolicy: null}`, ""},
		"a tag of our own":                {`tags: {kopiur-meta: c}`, "do not start with kopiur"},
	})
}

func TestSnapshotOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Snapshot", "one", leastSnapshot)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		"a tag of our own":         `tags: {kopiur: c}`,
		"a policy of a long name":  `policyRef: {name: ` + strings.Repeat("a", 100) + `}`,
		"a source before any":      `source: {sourceIndex: -1}`,
		"a mover of nobody":        `mover: {inheritSecurityContextFrom: {}}`,
		"a long description":       `description: ` + strings.Repeat("a", 2000),
		"a namespace of a cluster": `repository: {name: nas, kind: ClusterRepository, namespace: apps}`,
	} {
		o := with(t, base, fragment)
		o.SetName("old-" + string(rune('a'+len(old))))
		old[name] = o
	}
	olderThanTheRules(t, env, "snapshots", old)
}

// TestSnapshotPhases: every phase that is written is one that the schema takes.
func TestSnapshotPhases(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	stored := manifest(t, "Snapshot", "one", leastSnapshot)
	namespaced(env, stored)
	require.NoError(t, env.Client.Create(t.Context(), stored))
	drop(t, env, stored)
	for _, phase := range []kopiurv1.SnapshotPhase{
		kopiurv1.SnapshotPending, kopiurv1.SnapshotRunning, kopiurv1.SnapshotSucceeded, kopiurv1.SnapshotFailed,
		kopiurv1.SnapshotDeleting, kopiurv1.SnapshotDiscovered, kopiurv1.SnapshotUnchanged,
	} {
		patch := []byte(`{"status":{"phase":"` + string(phase) + `"}}`)
		require.NoError(t, env.Client.Status().Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", patch)), phase)
	}
	require.ErrorContains(t, env.Client.Status().Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Done"}}`))), "status.phase")
}

func TestSnapshotColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Phase", "Origin", "Snapshot", "Source", "Age"}, columns(t, env, "snapshots"))
	names(t, env, "snapshots", "kopiasnap")
}
