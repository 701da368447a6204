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

const leastPolicy = `
repository: {name: nas}
sources: [{pvc: {name: data}}]
`

// fullPolicy has every field that goes with one repository.
const fullPolicy = `
repository: {name: nas, kind: Repository, namespace: apps}
copyMethod: Direct
volumeSnapshotClassName: fast
groupBy: None
staging: {timeout: 10m, storageClassName: fast, accessModes: [ReadOnlyMany]}
identity: {username: web, hostname: apps}
retention: {keepLatest: 1, keepHourly: 2, keepDaily: 3, keepWeekly: 4, keepMonthly: 5, keepAnnual: 6}
defaultDeletionPolicy: Retain
deletion: {onPolicyDelete: Delete}
compression: {compressor: zstd, neverCompress: [.jpg]}
files: {ignoreRules: ["*.tmp"], ignoreCacheDirs: false, ignoreIdenticalSnapshots: true}
errorHandling: {ignoreFileErrors: true, ignoreDirErrors: true, ignoreUnknownTypes: false, failFast: true}
upload: {maxParallelSnapshots: 1, maxParallelFileReads: 8, limitMb: 1000}
extraArgs: [--parallel=8]
hooks:
  beforeSnapshot:
  - workloadExec: {podSelector: {matchLabels: {app: db}}, container: db, command: [sync], timeout: 1m, continueOnFailure: true}
  - runJob: {jobSpec: {template: {spec: {containers: [{name: a, image: b}]}}}, timeout: 1m, continueOnFailure: true}
  - httpRequest: {url: "https://app/freeze", method: PUT, body: "{}", headers: [{name: X-A, value: b}], timeout: 1m, continueOnFailure: true}
  afterSnapshot:
  - httpRequest: {url: "https://app/thaw"}
verification:
  quick: {schedule: {cron: "H 4 * * *", jitter: 10m, timezone: UTC}, parallel: 4, fileParallelism: 4, fileQueueLength: 100, maxErrors: 1}
  deep:
    schedule: {cron: "0 4 * * 0"}
    capacity: 10Gi
    storageClassName: fast
    parallel: 4
    check: {image: a, command: [b], args: [c], timeout: 1m, resources: {limits: {cpu: 1}}, securityContext: {runAsUser: 1000}}
  successExpr: stats.errors == 0
  verifyFilesPercent: 10
preflight: {checks: [{name: quiet, expr: size(pods) == 0, message: stop it}], timeout: 1h}
mover: {cache: {capacity: 1Gi}, inheritSecurityContextFrom: {pvcConsumer: {container: web}}}
credentialProjection: {enabled: true}
adoption: Ignore
suspend: true
`

func TestPolicySources(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	dump := func(fields string) string {
		return "sources: [{stream: {" + fields + "}}]"
	}
	exec := "workloadExec: {podSelector: {matchLabels: {app: db}}, command: [pg_dump]}"
	check(t, env, manifest(t, "SnapshotPolicy", "web", leastPolicy), rows{
		"a claim passes":                 {`sources: [{pvc: {name: data}}]`, ""},
		"a selector passes":              {`sources: [{pvcSelector: {labelSelector: {matchLabels: {backup: "yes"}}, namespaceSelector: {matchNames: [apps]}}}]`, ""},
		"an empty selector passes":       {`sources: [{pvcSelector: {}}]`, ""},
		"an export passes":               {`sources: [{nfs: {server: nas.local, path: /export}}]`, ""},
		"a stream passes":                {dump("fileName: db.sql, " + exec), ""},
		"several pass":                   {`sources: [{pvc: {name: data}}, {nfs: {server: nas.local, path: /export}}]`, ""},
		"none at all":                    {`sources: []`, "spec.sources"},
		"null for all":                   {`sources: null`, "spec.sources: Required"},
		"one of nothing":                 {`sources: [{}]`, "a source must have exactly one of pvc, pvcSelector, nfs, stream"},
		"one of null":                    {`sources: [{pvc: null}]`, "a source must have exactly one of"},
		"one beside null":                {`sources: [{pvc: {name: data}, nfs: null, stream: null, pvcSelector: null, readOnly: null, sourcePathOverride: null, sourcePathStrategy: null}]`, ""},
		"one of two":                     {`sources: [{pvc: {name: data}, nfs: {server: s, path: /e}}]`, "a source must have exactly one of"},
		"one of four":                    {`sources: [{pvc: {name: data}, pvcSelector: {}, nfs: {server: s, path: /e}, stream: {fileName: a, ` + exec + `}}]`, "a source must have exactly one of"},
		"the second of nothing":          {`sources: [{pvc: {name: data}}, {readOnly: true}]`, "a source must have exactly one of"},
		"a stream and a claim":           {`sources: [{pvc: {name: data}}, {stream: {fileName: a, ` + exec + `}}]`, "a stream must be the only source"},
		"two streams":                    {`sources: [{stream: {fileName: a, ` + exec + `}}, {stream: {fileName: b, ` + exec + `}}]`, "a stream must be the only source"},
		"a stream into a folder":         {dump("fileName: a/b, " + exec), "fileName must be a single name"},
		"a stream into itself":           {dump(`fileName: ".", ` + exec), "fileName must be a single name"},
		"a stream to above":              {dump(`fileName: "..", ` + exec), "fileName must be a single name"},
		"a stream with dots":             {dump(`fileName: "..a", ` + exec), ""},
		"a stream without a name":        {dump(`fileName: "", ` + exec), "fileName"},
		"a stream without a command":     {dump("fileName: a, workloadExec: {podSelector: {}}"), "command: Required"},
		"a stream with an empty command": {dump("fileName: a, workloadExec: {podSelector: {}, command: []}"), "command"},
		"a hundred":                      {"sources: [" + strings.TrimSuffix(strings.Repeat("{pvc: {name: data}},", 100), ",") + "]", ""},
		"a hundred and one":              {"sources: [" + strings.TrimSuffix(strings.Repeat("{pvc: {name: data}},", 101), ",") + "]", "spec.sources: Too many"},
		"a class below the claim":        {`sources: [{pvc: {name: data, volumeSnapshotClassName: fast}}]`, `unknown field "spec.sources[0].pvc.volumeSnapshotClassName"`},
		"a path of 4096":                 {`sources: [{pvc: {name: data}, sourcePathOverride: /` + strings.Repeat("a", 4095) + `}]`, ""},
		"a path of 4097":                 {`sources: [{pvc: {name: data}, sourcePathOverride: /` + strings.Repeat("a", 4096) + `}]`, "sourcePathOverride"},
		"a naming that is none":          {`sources: [{pvc: {name: data}, sourcePathStrategy: Name}]`, "sourcePathStrategy"},
		"all that goes with a claim":     {`sources: [{pvc: {name: data}, readOnly: false, acknowledgeLiveMutation: true, pvcPublicationReadOnly: false, acknowledgeReadWritePublication: true, sourcePathOverride: /data, sourcePathStrategy: PvcNamespacedName}]`, ""},
		"an export that is not absolute": {`sources: [{nfs: {server: nas.local, path: export}}]`, "path must be absolute"},
	})
}

func TestPolicyRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	eight := strings.TrimSuffix(strings.Repeat("{name: nas},", 8), ",")
	before := func(hook string) string { return "hooks: {beforeSnapshot: [" + hook + "]}" }
	check(t, env, manifest(t, "SnapshotPolicy", "web", leastPolicy), rows{
		"one repository":                     {`repository: {name: nas, kind: ClusterRepository}`, ""},
		"several repositories":               {`{repository: null, repositories: [{name: nas}, {name: nas, kind: ClusterRepository}]}`, ""},
		"no repository":                      {`repository: null`, "spec must have exactly one of repository, repositories"},
		"an empty list of repositories":      {`repositories: []`, ""},
		"an empty list alone":                {`{repository: null, repositories: []}`, "spec must have exactly one of repository, repositories"},
		"one and a list":                     {`repositories: [{name: nas}]`, "spec must have exactly one of repository, repositories"},
		"eight repositories":                 {`{repository: null, repositories: [` + eight + `]}`, ""},
		"nine repositories":                  {`{repository: null, repositories: [` + eight + `, {name: nas}]}`, "spec.repositories: Too many"},
		"a ClusterRepository of a namespace": {`{repository: null, repositories: [{name: nas, kind: ClusterRepository, namespace: apps}]}`, "namespace must not be set when kind is ClusterRepository"},
		"a class that is empty":              {`volumeSnapshotClassName: ""`, ""},
		"a method that is none":              {`copyMethod: Copy`, "spec.copyMethod"},
		"a grouping that is none":            {`groupBy: Namespace`, "spec.groupBy"},
		"an access mode that is none":        {`staging: {accessModes: [ReadMany]}`, "spec.staging.accessModes"},
		"an access mode twice":               {`staging: {accessModes: [ReadWriteOnce, ReadWriteOnce]}`, "Duplicate value"},
		"an identity with @":                 {`identity: {username: a@b}`, "spec.identity.username"},
		"an identity of nothing":             {`identity: {username: "", hostname: ""}`, ""},
		"a retention that keeps":             {`retention: {keepDaily: 7, keepLatest: 0}`, ""},
		"a retention that keeps nothing":     {`retention: {}`, "retention must keep something"},
		"a retention of zeros":               {`retention: {keepLatest: 0, keepHourly: 0, keepDaily: 0, keepWeekly: 0, keepMonthly: 0, keepAnnual: 0}`, "retention must keep something"},
		"a retention of less":                {`retention: {keepDaily: -1}`, "spec.retention.keepDaily"},
		"a deletion that is none":            {`defaultDeletionPolicy: Keep`, "spec.defaultDeletionPolicy"},
		"a cascade that orphans":             {`deletion: {onPolicyDelete: Orphan}`, "spec.deletion.onPolicyDelete"},
		"an adoption that is none":           {`adoption: Adopted`, "spec.adoption"},
		"no rules at all":                    {`files: {ignoreRules: []}`, ""},
		"a hook of a command":                {before(`{workloadExec: {podSelector: {}, command: [a]}}`), ""},
		"a hook of a Job":                    {before(`{runJob: {jobSpec: {template: {spec: {containers: [{name: a, image: b, resources: {limits: {cpu: 1}}}]}}}}}`), ""},
		"a hook of a Job with any field":     {before(`{runJob: {jobSpec: {anything: [1, "a", {b: null}]}}}`), ""},
		"a hook of a Job that is a list":     {before(`{runJob: {jobSpec: []}}`), "jobSpec"},
		"a hook of a Job that is null":       {before(`{runJob: {jobSpec: null}}`), "jobSpec"},
		"a hook of a request":                {before(`{httpRequest: {url: "https://app"}}`), ""},
		"a hook of nothing":                  {before(`{}`), "a hook must have exactly one of workloadExec, runJob, httpRequest"},
		"a hook of two things":               {before(`{runJob: {jobSpec: {}}, httpRequest: {url: "https://app"}}`), "a hook must have exactly one of"},
		"a later hook of nothing":            {`hooks: {afterSnapshot: [{httpRequest: {url: "https://app"}}, {}]}`, "a hook must have exactly one of"},
		"a header without a value":           {before(`{httpRequest: {url: "https://app", headers: [{name: A}]}}`), "value: Required"},
		"a header with an empty value":       {before(`{httpRequest: {url: "https://app", headers: [{name: A, value: ""}]}}`), ""},
		"no hooks":                           {`hooks: {}`, ""},
		"quick without a schedule":           {`verification: {quick: {}}`, ""}, // admission asks for it, by name
		"deep without a schedule":            {`verification: {deep: {}}`, "spec.verification.deep.schedule: Required"},
		"a check without an image":           {`verification: {deep: {schedule: {cron: "0 4 * * 0"}, check: {}}}`, "check.image: Required"},
		"all files and more":                 {`verification: {verifyFilesPercent: 255}`, ""},
		"too many files":                     {`verification: {verifyFilesPercent: 256}`, "spec.verification.verifyFilesPercent"},
		"a capacity that is a number":        {`verification: {deep: {schedule: {cron: "0 4 * * 0"}, capacity: 1073741824}}`, ""},
		"a capacity in words":                {`verification: {deep: {schedule: {cron: "0 4 * * 0"}, capacity: big}}`, "capacity"},
		"two checks":                         {`preflight: {checks: [{name: a, expr: "true"}, {name: b, expr: "true"}]}`, ""},
		"one check twice":                    {`preflight: {checks: [{name: a, expr: "true"}, {name: a, expr: "true"}]}`, "Duplicate value"},
		"a check without a name":             {`preflight: {checks: [{expr: "true"}]}`, "name: Required"},
		"a long name of a check":             {`preflight: {checks: [{name: ` + strings.Repeat("a", 64) + `, expr: "true"}]}`, "name"},
		"a mover from nobody":                {`mover: {inheritSecurityContextFrom: {}}`, "inheritSecurityContextFrom must have exactly one of"},
		"a repository as a name":             {`repository: nas`, "spec.repository"},
		"everything":                         {fullPolicy, ""},
	})
	long := manifest(t, "SnapshotPolicy", strings.Repeat("a", 63), leastPolicy)
	says(t, dryRun(t, env, long), "")
	long.SetName(strings.Repeat("a", 64))
	says(t, dryRun(t, env, long), "metadata.name must have at most 63 characters")
}

const policyDefaults = `
copyMethod: Snapshot
groupBy: VolumeGroupSnapshot
defaultDeletionPolicy: Delete
deletion: {onPolicyDelete: Retain}
files: {ignoreRules: [/lost+found, System Volume Information, $RECYCLE.BIN, "@eaDir", .snapshot]}
`

func TestPolicyDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotPolicy", "web", leastPolicy)
	defaults(t, env, base.DeepCopy(), policyDefaults+`
repository: {name: nas, kind: Repository}
sources: [{pvc: {name: data}, readOnly: true, sourcePathStrategy: PvcName}]
`)
	// Nothing is added below what was left out, and what was written stays.
	defaults(t, env, with(t, base, `
repository: null
repositories: [{name: nas}, {name: offsite, kind: ClusterRepository}]
sources: [{stream: {fileName: a, workloadExec: {podSelector: {}, command: [b]}}, readOnly: null}]
copyMethod: null
deletion: {}
files: {ignoreRules: [], ignoreCacheDirs: true}
credentialProjection: {}
hooks: {beforeSnapshot: [{httpRequest: {url: "https://app"}}]}
verification: {quick: {schedule: {cron: "0 4 * * *"}}}
`), `
repositories: [{name: nas, kind: Repository}, {name: offsite, kind: ClusterRepository}]
sources: [{stream: {fileName: a, workloadExec: {podSelector: {}, command: [b]}}, readOnly: true, sourcePathStrategy: PvcName}]
copyMethod: Snapshot
groupBy: VolumeGroupSnapshot
defaultDeletionPolicy: Delete
deletion: {onPolicyDelete: Retain}
files: {ignoreRules: [], ignoreCacheDirs: true}
credentialProjection: {enabled: false}
hooks: {beforeSnapshot: [{httpRequest: {url: "https://app"}}]}
verification: {quick: {schedule: {cron: "0 4 * * *"}}}
`)
}

func TestPolicyNulls(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	nulls(t, env, "snapshotpolicies", with(t, manifest(t, "SnapshotPolicy", "web", leastPolicy), fullPolicy))
}

func TestPolicyUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, with(t, manifest(t, "SnapshotPolicy", "web", leastPolicy), fullPolicy), rows{
		"the same":                          {``, ""},
		"an old client that knows little":   {`{groupBy: null, retention: null, defaultDeletionPolicy: null, deletion: null, hooks: null, verification: null, preflight: null, extraArgs: null, adoption: null, credentialProjection: null}`, ""},
		"another identity":                  {`identity: {username: other}`, ""}, // admission asks whether there is history
		"several repositories for one":      {`{repository: null, repositories: [{name: nas}, {name: offsite}]}`, ""},
		"a source of another kind":          {`sources: [{nfs: {server: s, path: /e}}]`, ""},
		"the only source is none any more":  {`sources: [{}]`, "a source must have exactly one of"},
		"the repository is none any more":   {`repository: null`, "spec must have exactly one of"},
		"a retention that deletes it all":   {`retention: {keepDaily: 0}`, "retention must keep something"},
		"a stream in addition to the claim": {`sources: [{pvc: {name: data}}, {stream: {fileName: a, workloadExec: {podSelector: {}, command: [b]}}}]`, "a stream must be the only source"},
	})
}

func TestPolicyOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotPolicy", "web", leastPolicy)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		"no repository":        `repository: null`,
		"two of repositories":  `repositories: [{name: nas}]`,
		"a source of nothing":  `sources: [{}]`,
		"no sources":           `sources: []`,
		"a stream and a claim": `sources: [{pvc: {name: data}}, {stream: {fileName: a, workloadExec: {podSelector: {}, command: [b]}}}]`,
		"a file in a folder":   `sources: [{stream: {fileName: a/b, workloadExec: {podSelector: {}, command: [b]}}}]`,
		"a hook of nothing":    `hooks: {beforeSnapshot: [{}]}`,
		"an empty retention":   `retention: {}`,
		"a mover of nobody":    `mover: {inheritSecurityContextFrom: {}}`,
	} {
		o := with(t, base, fragment)
		o.SetName("old-" + string(rune('a'+len(old))))
		old[name] = o
	}
	long := base.DeepCopy()
	long.SetName(strings.Repeat("a", 64))
	old["a long name"] = long
	olderThanTheRules(t, env, "snapshotpolicies", old)
}

func TestPolicyColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Repository", "Repositories", "Last-Snapshot", "Last-Verified", "Suspended", "Age"}, columns(t, env, "snapshotpolicies"))
	names(t, env, "snapshotpolicies", "kopiasp")
}
