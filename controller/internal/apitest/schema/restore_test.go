// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const leastRestore = `
source: {snapshotRef: {name: monday}}
target: {pvc: {name: data, capacity: 10Gi}}
`

// fullRestore has every field that goes with one source and one target.
const fullRestore = `
source: {fromPolicy: {name: db, namespace: apps, asOf: "2026-03-05T09:00:00Z", offset: 1, sourcePath: /pvc/data}}
target: {pvc: {name: data, capacity: 10Gi, storageClassName: fast, accessModes: [ReadWriteOnce]}}
repository: {name: nas, kind: Repository, namespace: apps}
subPath: etc
policy: {onMissingSnapshot: Fail, waitTimeout: 10m}
options:
  enableFileDeletion: true
  ignorePermissionErrors: false
  writeFilesAtomically: true
  writeSparseFiles: true
  skipOwners: false
  skipPermissions: false
  skipTimes: false
  overwriteFiles: true
  overwriteDirectories: true
  overwriteSymlinks: true
  ignoreErrors: false
  skipExisting: true
  parallel: 4
mover:
  resources: {limits: {memory: 1Gi, cpu: 2}, requests: {cpu: 100m}}
  cache: {capacity: 1Gi, storageClassName: fast, mode: Ephemeral, contentCacheSizeMb: 100, metadataCacheSizeMb: 100}
  securityContext: {runAsUser: 1000}
  podSecurityContext: {fsGroup: 1000}
  privilegedMode: true
  inheritSecurityContextFrom: {workloadSelector: {podSelector: {matchLabels: {app: db}}, container: db}}
  ttlSecondsAfterFinished: 60
failurePolicy: {backoffLimit: 1, activeDeadlineSeconds: 3600, podStartupDeadlineSeconds: 60}
credentialProjection: {enabled: true}
`

func TestRestoreSources(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	check(t, env, manifest(t, "Restore", "back", leastRestore), rows{
		"a snapshot passes":               {`source: {snapshotRef: {name: monday, namespace: other}}`, ""},
		"a policy passes":                 {`source: {fromPolicy: {name: db}}`, ""},
		"an identity passes":              {`{source: {identity: {username: db, hostname: apps}}, repository: {name: nas}}`, ""},
		"one snapshot of an identity":     {`{source: {identity: {username: db, hostname: apps, sourcePath: /pvc/data, snapshotID: k1, asOf: "2026-03-05T09:00:00Z", offset: 2}}, repository: {name: nas}}`, ""},
		"none is refused":                 {`source: {}`, "source must have exactly one of snapshotRef, fromPolicy, identity"},
		"two are refused":                 {`source: {snapshotRef: {name: a}, fromPolicy: {name: b}}`, "source must have exactly one of"},
		"all three are refused":           {`source: {snapshotRef: {name: a}, fromPolicy: {name: b}, identity: {username: c, hostname: d}}`, "source must have exactly one of"},
		"null is none":                    {`source: {identity: null}`, "source must have exactly one of"},
		"null beside one":                 {`source: {snapshotRef: {name: a}, fromPolicy: null, identity: null}`, ""},
		"a source is a must":              {`source: null`, "spec.source"},
		"a snapshot has a name":           {`source: {snapshotRef: {}}`, "spec.source.snapshotRef.name: Required"},
		"a name is not empty":             {`source: {snapshotRef: {name: ""}}`, "spec.source.snapshotRef.name"},
		"a policy's name is a label":      {`source: {fromPolicy: {name: ` + strings.Repeat("a", 64) + `}}`, "spec.source.fromPolicy.name"},
		"an offset is not negative":       {`source: {fromPolicy: {name: db, offset: -1}}`, "spec.source.fromPolicy.offset"},
		"an identity's offset neither":    {`source: {identity: {username: db, hostname: apps, offset: -1}}`, "spec.source.identity.offset"},
		"an identity has a host":          {`source: {identity: {username: db}}`, "spec.source.identity.hostname: Required"},
		"an identity has a user":          {`source: {identity: {hostname: apps}}`, "spec.source.identity.username: Required"},
		"a user has no @":                 {`source: {identity: {username: db@apps, hostname: apps}}`, "spec.source.identity.username"},
		"a host has no colon":             {`source: {identity: {username: db, hostname: "apps:/pvc"}}`, "spec.source.identity.hostname"},
		"a host has no space":             {`source: {identity: {username: db, hostname: "a b"}}`, "spec.source.identity.hostname"},
		"snapshotId is not snapshotID":    {`source: {identity: {username: db, hostname: apps, snapshotId: k1}}`, `unknown field "spec.source.identity.snapshotId"`},
		"a ClusterRepository passes":      {`repository: {name: nas, kind: ClusterRepository}`, ""},
		"a ClusterRepository's namespace": {`repository: {name: nas, kind: ClusterRepository, namespace: apps}`, "namespace must not be set when kind is ClusterRepository"},
		"an empty namespace is none":      {`repository: {name: nas, kind: ClusterRepository, namespace: ""}`, ""},
		"a repository of another kind":    {`repository: {name: nas, kind: Bucket}`, "spec.repository.kind"},
	})
}

func TestRestoreTargets(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const exec = `{podSelector: {matchLabels: {app: db}}, container: db, command: [psql, app], timeout: 30m}`
	check(t, env, manifest(t, "Restore", "back", leastRestore), rows{
		"a new claim passes":                      {`target: {pvc: {name: data, capacity: 10Gi, storageClassName: fast, accessModes: [ReadWriteOnce, ReadOnlyMany]}}`, ""},
		"the size is left to the webhook":         {`target: {pvc: {name: data}}`, ""},
		"an existing claim passes":                {`target: {pvcRef: {name: data}}`, ""},
		"an existing claim with all its settings": {`target: {pvcRef: {name: data, namespace: apps, ifInUse: Refuse}}`, ""},
		"a populator passes":                      {`target: {populator: {}}`, ""},
		"a stream passes":                         {`target: {streamExec: {fileName: db.sql, workloadExec: ` + exec + `}}`, ""},
		"none is refused":                         {`target: {}`, "target must have exactly one of pvc, pvcRef, populator, streamExec"},
		"a populator must be written {}":          {`target: {populator: null}`, "target must have exactly one of"},
		"null beside one":                         {`target: {pvcRef: {name: data}, pvc: null, populator: null, streamExec: null}`, ""},
		"two claims are refused":                  {`target: {pvc: {name: data}, pvcRef: {name: data}}`, "target must have exactly one of"},
		"a claim and a populator":                 {`target: {pvc: {name: data}, populator: {}}`, "target must have exactly one of"},
		"a populator and a stream":                {`target: {populator: {}, streamExec: {fileName: f, workloadExec: ` + exec + `}}`, "target must have exactly one of"},
		"a populator has no settings":             {`target: {populator: {storageClassName: fast}}`, `unknown field "spec.target.populator.storageClassName"`},
		"a target is a must":                      {`target: null`, "spec.target"},
		"a size in bytes":                         {`target: {pvc: {name: data, capacity: 10737418240}}`, ""},
		"a size as text in bytes":                 {`target: {pvc: {name: data, capacity: "10737418240"}}`, ""},
		"a size that is empty is none":            {`target: {pvc: {name: data, capacity: ""}}`, ""},
		"a size with an exponent":                 {`target: {pvc: {name: data, capacity: 10e9}}`, ""},
		"a size in GB":                            {`target: {pvc: {name: data, capacity: 10GB}}`, "spec.target.pvc.capacity"},
		"a size with a fraction of an exponent":   {`target: {pvc: {name: data, capacity: 1e3.5}}`, "spec.target.pvc.capacity"},
		"a size in words":                         {`target: {pvc: {name: data, capacity: ten}}`, "spec.target.pvc.capacity"},
		"a size that is true":                     {`target: {pvc: {name: data, capacity: true}}`, "spec.target.pvc.capacity"},
		"an access mode in short":                 {`target: {pvc: {name: data, accessModes: [RWO]}}`, "spec.target.pvc.accessModes[0]"},
		"an access mode twice":                    {`target: {pvc: {name: data, accessModes: [ReadWriteOnce, ReadWriteOnce]}}`, "Duplicate value"},
		"no access modes are the default":         {`target: {pvc: {name: data, accessModes: []}}`, ""},
		"users of the claim are one of two":       {`target: {pvcRef: {name: data, ifInUse: Ignore}}`, "spec.target.pvcRef.ifInUse"},
		"a stream's file has no slash":            {`target: {streamExec: {fileName: a/b, workloadExec: ` + exec + `}}`, "fileName must be a single name without a slash"},
		"a stream's file is no dot":               {`target: {streamExec: {fileName: ., workloadExec: ` + exec + `}}`, "fileName must be a single name without a slash"},
		"a stream's file is not two dots":         {`target: {streamExec: {fileName: .., workloadExec: ` + exec + `}}`, "fileName must be a single name without a slash"},
		"a stream's file may be hidden":           {`target: {streamExec: {fileName: ..data, workloadExec: ` + exec + `}}`, ""},
		"a stream's file has a name":              {`target: {streamExec: {fileName: "", workloadExec: ` + exec + `}}`, "spec.target.streamExec.fileName"},
		"a stream has a command":                  {`target: {streamExec: {fileName: f, workloadExec: {podSelector: {matchLabels: {a: b}}}}}`, "spec.target.streamExec.workloadExec.command: Required"},
		"a command has a program":                 {`target: {streamExec: {fileName: f, workloadExec: {podSelector: {matchLabels: {a: b}}, command: []}}}`, "spec.target.streamExec.workloadExec.command"},
	})
}

func TestRestoreSettings(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	check(t, env, manifest(t, "Restore", "back", leastRestore), rows{
		"everything passes":              {fullRestore, ""},
		"nothing more passes":            {`{}`, ""},
		"empty settings are none":        {`{options: {}, policy: {}, mover: {}, failurePolicy: {}, subPath: ""}`, ""},
		"Continue passes":                {`policy: {onMissingSnapshot: Continue}`, ""},
		"a policy that is none":          {`policy: {onMissingSnapshot: Skip}`, "spec.policy.onMissingSnapshot"},
		"a timeout may be a number":      {`policy: {waitTimeout: "600"}`, ""},
		"files at a time":                {`options: {parallel: 0}`, "spec.options.parallel"},
		"too many files at a time":       {`options: {parallel: 257}`, "spec.options.parallel"},
		"a file at a time":               {`options: {parallel: 1}`, ""},
		"a negative backoff":             {`failurePolicy: {backoffLimit: -1}`, "spec.failurePolicy.backoffLimit"},
		"a time to live beyond 32 bits":  {`mover: {ttlSecondsAfterFinished: 5000000000}`, "ttlSecondsAfterFinished"},
		"a path that is too long":        {`subPath: ` + strings.Repeat("a", 4097), "spec.subPath"},
		"a user from nowhere":            {`mover: {inheritSecurityContextFrom: {}}`, "inheritSecurityContextFrom must have exactly one of"},
		"a user from the backup":         {`mover: {inheritSecurityContextFrom: {snapshot: {}}}`, ""},
		"a user from the backup as null": {`mover: {inheritSecurityContextFrom: {snapshot: null}}`, "inheritSecurityContextFrom must have exactly one of"},
		"a limit in MB":                  {`mover: {resources: {limits: {memory: 512MB}}}`, "spec.mover.resources.limits.memory"},
		"a limit as a number":            {`mover: {resources: {limits: {cpu: 1}}}`, ""},
		"a cache of 1.5Gi":               {`mover: {cache: {capacity: 1.5Gi}}`, ""},
	})
}

func TestRestoreDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Restore", "back", leastRestore)
	defaults(t, env, base.DeepCopy(), leastRestore)
	defaults(t, env, with(t, base, `{source: {fromPolicy: {name: db}}, repository: {name: nas}, credentialProjection: {}}`), `
source: {fromPolicy: {name: db, offset: 0}}
target: {pvc: {name: data, capacity: 10Gi}}
repository: {name: nas, kind: Repository}
credentialProjection: {enabled: false}
`)
	// Nothing is added below what was left out: GitOps tools compare what they wrote with what is stored.
	defaults(t, env, with(t, base, `{target: {populator: {}}, source: {identity: {username: a, hostname: b}}, options: {}, policy: {}, mover: {cache: {}}}`), `
source: {identity: {username: a, hostname: b}}
target: {populator: {}}
options: {}
policy: {}
mover: {cache: {}}
`)
	defaults(t, env, with(t, base, `{source: {fromPolicy: {name: db, offset: null}}, target: {pvcRef: {name: data, ifInUse: null}}, repository: {name: nas, kind: null}}`), `
source: {fromPolicy: {name: db, offset: 0}}
target: {pvcRef: {name: data}}
repository: {name: nas, kind: Repository}
`)
}

func TestRestoreNulls(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Restore", "back", leastRestore)
	for name, fragment := range map[string]string{
		"policy into a new claim":     fullRestore,
		"snapshot into a claim":       `{source: {snapshotRef: {name: a, namespace: b}}, target: {pvcRef: {name: data, namespace: apps, ifInUse: Warn}}}`,
		"identity through a command":  `{source: {identity: {username: a, hostname: b, sourcePath: /c, snapshotID: d, asOf: e, offset: 1}}, target: {streamExec: {fileName: f, workloadExec: {podSelector: {matchLabels: {a: b}}, container: c, command: [d], timeout: 1m}}}}`,
		"user recorded at the backup": `{target: {populator: {}}, mover: {inheritSecurityContextFrom: {snapshot: {}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nulls(t, env, "restores", with(t, base, fragment))
		})
	}
}

// TestRestoreUpdates: a Restore may be changed in every field, also by a client that does not know the newer ones.
func TestRestoreUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "Restore", "back", fullRestore), rows{
		"the same":                       {fullRestore, ""},
		"another source":                 {`source: {identity: {username: a, hostname: b}}`, ""},
		"another target":                 {`target: {populator: {}}`, ""},
		"both targets":                   {`target: {populator: {}, pvc: {name: data}}`, "target must have exactly one of"},
		"an old client drops new fields": {`{subPath: null, credentialProjection: null, options: {parallel: 2}}`, ""},
	})
}

func TestRestoreOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		"no-source":     `source: {}`,
		"two-targets":   `target: {pvc: {name: data}, populator: {}}`,
		"odd-size":      `target: {pvc: {name: data, capacity: 10GB}}`,
		"odd-limit":     `mover: {resources: {limits: {memory: 512MB}}}`,
		"odd-identity":  `source: {identity: {username: a@b, hostname: ""}}`,
		"odd-offset":    `source: {fromPolicy: {name: db, offset: -1}}`,
		"odd-file":      `target: {streamExec: {fileName: a/b, workloadExec: {podSelector: {}, command: [x]}}}`,
		"odd-namespace": `repository: {name: nas, kind: ClusterRepository, namespace: apps}`,
	} {
		old[name] = with(t, manifest(t, "Restore", name, leastRestore), fragment)
	}
	olderThanTheRules(t, env, "restores", old)
}

func TestRestoreColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Phase", "Source", "Age"}, columns(t, env, "restores"))
	names(t, env, "restores", "kopiarestore")
}
