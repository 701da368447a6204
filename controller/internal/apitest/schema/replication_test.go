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

const leastMirror = `
sourceRef: {name: nas}
destination: {s3: {bucket: offsite}}
schedule: {cron: "0 4 * * *"}
`

const fullMirror = `
sourceRef: {name: nas, kind: Repository, namespace: apps}
destination: {s3: {bucket: offsite, prefix: mirror/, endpoint: "s3.example.org:9000", region: eu, tls: {caBundleRef: {configMapName: ca, key: ca.crt}, insecureSkipVerify: false}, auth: {secretRef: {name: k, namespace: apps}}}}
schedule: {cron: "H 4 * * *", jitter: 1h, timezone: UTC}
mover: {resources: {limits: {memory: 1Gi}}}
suspend: true
sync: {parallel: 8, deleteExtra: true, mustExist: true, times: false, update: false, maxDownloadSpeedBytesPerSecond: 1000000, maxUploadSpeedBytesPerSecond: 1000000}
verify: {schedule: {cron: "0 5 * * 0", jitter: 1h, timezone: UTC}, verifyFilesPercent: 10}
`

func TestRepositoryReplicationRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "RepositoryReplication", "offsite", leastMirror)
	nameIsALabel(t, env, base)
	check(t, env, base, rows{
		"everything passes":                   {fullMirror, ""},
		"to Azure passes":                     {`destination: {azure: {container: c, storageAccount: a, auth: {workloadIdentity: {serviceAccountName: sa}}}}`, ""},
		"to GCS passes":                       {`destination: {gcs: {bucket: b, auth: {secretRef: {name: k}}}}`, ""},
		"to B2 passes":                        {`destination: {b2: {bucket: b, auth: {secretRef: {name: k}}}}`, ""},
		"to a claim passes":                   {`destination: {filesystem: {path: /mirror, volume: {pvc: {name: c}}}}`, ""},
		"to an SSH server passes":             {`destination: {sftp: {host: h, path: /p, auth: {secretRef: {name: k}}}}`, ""},
		"to a WebDAV server passes":           {`destination: {webDav: {url: "https://h/p", auth: {secretRef: {name: k}}}}`, ""},
		"through rclone passes":               {`destination: {rclone: {remotePath: "box:b", configSecretRef: {name: k}}}`, ""},
		"to Google Drive passes":              {`destination: {gdrive: {folderId: a, credentialsSecretRef: {name: k}}}`, ""},
		"to nowhere is refused":               {`destination: {}`, "backend must have exactly one of"},
		"to two places is refused":            {`destination: {gcs: {bucket: b}, b2: {bucket: b}}`, "backend must have exactly one of"},
		"a destination is a must":             {`destination: null`, "spec.destination"},
		"a destination has its rules":         {`destination: {s3: {bucket: b, endpoint: "http://minio"}}`, "endpoint must not begin with http:// unless"},
		"a mirror has the source's password":  {`destinationEncryption: {passwordSecretRef: {name: p}}`, `unknown field "spec.destinationEncryption"`},
		"a source is a must":                  {`sourceRef: null`, "spec.sourceRef"},
		"a ClusterRepository passes":          {`sourceRef: {name: nas, kind: ClusterRepository}`, ""},
		"a ClusterRepository elsewhere":       {`sourceRef: {name: nas, kind: ClusterRepository, namespace: apps}`, "namespace must not be set when kind is ClusterRepository"},
		"a schedule is a must":                {`schedule: null`, "spec.schedule"},
		"a schedule has a cron":               {`schedule: {timezone: UTC}`, "spec.schedule.cron: Required"},
		"no copy at a time":                   {`sync: {parallel: 0}`, "spec.sync.parallel"},
		"too many copies at a time":           {`sync: {parallel: 257}`, "spec.sync.parallel"},
		"a negative speed":                    {`sync: {maxUploadSpeedBytesPerSecond: -1}`, "spec.sync.maxUploadSpeedBytesPerSecond"},
		"no limit is 0":                       {`sync: {maxUploadSpeedBytesPerSecond: 0}`, ""},
		"a proof has a schedule":              {`verify: {verifyFilesPercent: 10}`, "spec.verify.schedule: Required"},
		"a proof of more than all files":      {`verify: {schedule: {cron: "0 5 * * 0"}, verifyFilesPercent: 101}`, "spec.verify.verifyFilesPercent"},
		"a user from a workload is no matter": {`mover: {inheritSecurityContextFrom: {workloadSelector: {podSelector: {matchLabels: {a: b}}}}}`, ""},
	})
}

func TestRepositoryReplicationDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "RepositoryReplication", "offsite", leastMirror)
	want := `
sourceRef: {name: nas, kind: Repository}
destination: {s3: {bucket: offsite}}
schedule: {cron: "0 4 * * *"}
`
	defaults(t, env, base.DeepCopy(), want)
	defaults(t, env, with(t, base, `{sync: {}, mover: {}, suspend: null, verify: null}`), want+"sync: {}\nmover: {}\n")
}

func TestRepositoryReplicationNulls(t *testing.T) {
	t.Parallel()
	nulls(t, testenv.New(t), "repositoryreplications", manifest(t, "RepositoryReplication", "offsite", fullMirror))
}

func TestRepositoryReplicationUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "RepositoryReplication", "offsite", fullMirror), rows{
		"the same":                       {fullMirror, ""},
		"another place":                  {`destination: {gcs: {bucket: moved}}`, ""},
		"another source":                 {`sourceRef: {name: other}`, ""},
		"suspended":                      {`suspend: true`, ""},
		"an old client drops new fields": {`{verify: null, sync: {parallel: 4}}`, ""},
	})
}

func TestRepositoryReplicationOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		strings.Repeat("long-", 13) + "name": leastMirror,
		"nowhere":                            `destination: {}`,
		"two-places":                         `destination: {gcs: {bucket: b}, b2: {bucket: b}}`,
		"odd-endpoint":                       `destination: {s3: {bucket: b, endpoint: "http://minio/path"}}`,
		"odd-sync":                           `sync: {parallel: 0, maxUploadSpeedBytesPerSecond: -1}`,
	} {
		old[name] = with(t, manifest(t, "RepositoryReplication", name, leastMirror), fragment)
	}
	olderThanTheRules(t, env, "repositoryreplications", old)
}

const leastCopy = `
sourceRef: {name: nas}
destinationRef: {name: offsite, kind: ClusterRepository}
schedule: {cron: "30 4 * * *"}
`

const fullCopy = `
sourceRef: {name: nas, kind: Repository, namespace: apps}
destinationRef: {name: offsite, kind: Repository, namespace: apps}
schedule: {cron: "30 4 * * *", jitter: 10m, timezone: UTC}
selection:
  identities:
    include: [{username: "db-*", hostname: prod, sourcePath: "/pvc/*"}]
    exclude: [{hostname: test}]
  latestOnly: true
migrate:
  parallel: 2
  policies: copy
  throttle: {source: {downloadBytesPerSecond: 1000000, readOpsPerSecond: 100}, destination: {uploadBytesPerSecond: 1000000, writeOpsPerSecond: 100}}
pruning: {retention: {keepLatest: 1, keepHourly: 2, keepDaily: 7, keepWeekly: 4, keepMonthly: 12, keepAnnual: 1}}
mover: {resources: {limits: {memory: 1Gi}}}
credentialProjection: {enabled: true}
suspend: true
`

func TestSnapshotReplicationRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotReplication", "offsite", leastCopy)
	nameIsALabel(t, env, base)
	check(t, env, base, rows{
		"everything passes":             {fullCopy, ""},
		"a ClusterRepository elsewhere": {`destinationRef: {name: nas, kind: ClusterRepository, namespace: apps}`, "namespace must not be set when kind is ClusterRepository"},
		"a destination is a must":       {`destinationRef: null`, "spec.destinationRef"},
		"a source is a must":            {`sourceRef: null`, "spec.sourceRef"},
		"a schedule is a must":          {`schedule: null`, "spec.schedule"},
		"a pattern of one field":        {`selection: {identities: {include: [{username: db}, {hostname: a}, {sourcePath: /b}]}}`, ""},
		"a pattern of nothing":          {`selection: {identities: {include: [{}]}}`, "set at least one of username, hostname, sourcePath"},
		"a pattern of empty texts":      {`selection: {identities: {exclude: [{username: "", hostname: "", sourcePath: ""}]}}`, "set at least one of username, hostname, sourcePath"},
		"a pattern beside an empty one": {`selection: {identities: {include: [{username: "", hostname: a}]}}`, ""},
		"no patterns are empty lists":   {`selection: {identities: {include: [], exclude: []}}`, ""},
		"a pattern of another part":     {`selection: {identities: {include: [{path: /b}]}}`, `unknown field "spec.selection.identities.include[0].path"`},
		"an empty selection is none":    {`selection: {}`, ""},
		"no snapshot at a time":         {`migrate: {parallel: 0}`, "spec.migrate.parallel"},
		"too many snapshots at a time":  {`migrate: {parallel: 257}`, "spec.migrate.parallel"},
		"policies that are none":        {`migrate: {policies: all}`, "spec.migrate.policies"},
		"a negative throttle":           {`migrate: {throttle: {source: {readOpsPerSecond: -1}}}`, "spec.migrate.throttle.source.readOpsPerSecond"},
		"keeping every copy":            {`pruning: {none: {}}`, ""},
		"keeping every copy is {}":      {`pruning: {none: null}`, "pruning must have exactly one of none, mirrorSource, retention"},
		"following the source":          {`pruning: {mirrorSource: {}}`, ""},
		"following the source is {}":    {`pruning: {mirrorSource: null}`, "pruning must have exactly one of"},
		"pruning in no way":             {`pruning: {}`, "pruning must have exactly one of"},
		"pruning in two ways":           {`pruning: {none: {}, retention: {keepDaily: 7}}`, "pruning must have exactly one of"},
		"pruning in one way and nulls":  {`pruning: {none: {}, mirrorSource: null, retention: null}`, ""},
		"no pruning is null":            {`pruning: null`, ""},
		"a rule that keeps nothing":     {`pruning: {retention: {keepDaily: 0}}`, "retention must keep something"},
		"a rule of nothing":             {`pruning: {retention: {}}`, "retention must keep something"},
		"a rule with a 0 in it":         {`pruning: {retention: {keepDaily: 7, keepHourly: 0}}`, ""},
		"a negative rule":               {`pruning: {retention: {keepDaily: -7, keepLatest: 8}}`, "spec.pruning.retention.keepDaily"},
	})
}

func TestSnapshotReplicationDefaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "SnapshotReplication", "offsite", leastCopy)
	want := `
sourceRef: {name: nas, kind: Repository}
destinationRef: {name: offsite, kind: ClusterRepository}
schedule: {cron: "30 4 * * *"}
`
	defaults(t, env, base.DeepCopy(), want)
	defaults(t, env, with(t, base, `{migrate: {}, credentialProjection: {}, selection: {identities: {}}, suspend: null}`), want+`
migrate: {policies: none}
credentialProjection: {enabled: false}
selection: {identities: {}}
`)
	defaults(t, env, with(t, base, `{migrate: {policies: null, parallel: 2}, pruning: {mirrorSource: {}}}`), want+`
migrate: {policies: none, parallel: 2}
pruning: {mirrorSource: {}}
`)
}

func TestSnapshotReplicationNulls(t *testing.T) {
	t.Parallel()
	nulls(t, testenv.New(t), "snapshotreplications", manifest(t, "SnapshotReplication", "offsite", fullCopy))
}

func TestSnapshotReplicationUpdates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	change(t, env, manifest(t, "SnapshotReplication", "offsite", fullCopy), rows{
		"the same":                       {fullCopy, ""},
		"another destination":            {`destinationRef: {name: other}`, ""},
		"other pruning":                  {`pruning: {none: {}}`, ""},
		"both prunings":                  {`pruning: {none: {}, retention: {keepDaily: 7}}`, "pruning must have exactly one of"},
		"an old client drops new fields": {`{selection: null, migrate: {}, credentialProjection: null}`, ""},
	})
}

func TestSnapshotReplicationOlderThanTheRules(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	old := map[string]*unstructured.Unstructured{}
	for name, fragment := range map[string]string{
		strings.Repeat("long-", 13) + "name": leastCopy,
		"no-pruning":                         `pruning: {}`,
		"keeps-nothing":                      `pruning: {retention: {keepDaily: 0}}`,
		"no-pattern":                         `selection: {identities: {include: [{}]}}`,
		"odd-throttle":                       `migrate: {parallel: 0, throttle: {source: {readOpsPerSecond: -1}}}`,
	} {
		old[name] = with(t, manifest(t, "SnapshotReplication", name, leastCopy), fragment)
	}
	olderThanTheRules(t, env, "snapshotreplications", old)
}

func TestReplicationColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Source", "Destination", "Schedule", "Last", "Age"}, columns(t, env, "repositoryreplications"))
	names(t, env, "repositoryreplications", "kopiarepl")
	assert.Equal(t, []string{"Name", "Source", "Destination", "Schedule", "Phase", "Last", "Age"}, columns(t, env, "snapshotreplications"))
	names(t, env, "snapshotreplications", "kopiasrepl")
}
