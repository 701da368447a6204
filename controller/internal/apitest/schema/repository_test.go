// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const leastRepository = `
backend: {s3: {bucket: backups}}
encryption: {passwordSecretRef: {name: password}}
`

// both runs a test for the two kinds of repositories.
func both(t *testing.T, run func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured)) {
	t.Helper()
	t.Run("Repository", func(t *testing.T) {
		t.Parallel()
		run(t, testenv.New(t), manifest(t, "Repository", "nas", leastRepository))
	})
	t.Run("ClusterRepository", func(t *testing.T) {
		t.Parallel()
		env := testenv.New(t)
		run(t, env, with(t, manifest(t, "ClusterRepository", "nas-"+env.Namespace, leastRepository), "allowedNamespaces: {all: true}"))
	})
}

func TestRepositoryRules(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		check(t, env, base, rows{
			"parameters pass":                     {`parameters: {epoch: {minDuration: 24h}}`, ""},
			"parameters of a ReadOnly one":        {`{mode: ReadOnly, parameters: {epoch: {minDuration: 24h}}}`, "parameters must not be set when mode is ReadOnly"},
			"a lock of a ReadOnly one":            {`{mode: ReadOnly, parameters: {blobRetention: {disabled: true}}}`, "parameters must not be set when mode is ReadOnly"},
			"empty parameters of a ReadOnly one":  {`{mode: ReadOnly, parameters: {}}`, ""},
			"a lock passes":                       {`parameters: {blobRetention: {governance: {period: 720h}}}`, ""},
			"a lock is one of three":              {`parameters: {blobRetention: {}}`, "blobRetention must have exactly one of governance, compliance, disabled"},
			"a lock is only one of three":         {`parameters: {blobRetention: {governance: {period: 24h}, compliance: {period: 24h}}}`, "blobRetention must have exactly one of"},
			"a lock that is disabled: false":      {`parameters: {blobRetention: {disabled: false}}`, "disabled must be true"},
			"a lock that is disabled passes":      {`parameters: {blobRetention: {disabled: true}}`, ""},
			"epochs of fewer than 10 blobs":       {`parameters: {epoch: {advanceOnCount: 9}}`, "spec.parameters.epoch.advanceOnCount"},
			"foreign snapshots with a cluster":    {`{catalog: {foreignSnapshots: Fallback}, identityDefaults: {cluster: home}}`, ""},
			"foreign snapshots without":           {`catalog: {foreignSnapshots: Fallback}`, "catalog.foreignSnapshots: Fallback needs identityDefaults.cluster"},
			"foreign snapshots with an empty one": {`{catalog: {foreignSnapshots: Fallback}, identityDefaults: {cluster: ""}}`, "catalog.foreignSnapshots: Fallback needs identityDefaults.cluster"},
			"foreign snapshots ignored":           {`catalog: {foreignSnapshots: Ignore}`, ""},
			"a cluster's name has no dots":        {`identityDefaults: {cluster: a.b}`, "cluster must be a DNS label"},
			"a cluster's name has 32 characters":  {`identityDefaults: {cluster: abcdefghijabcdefghijabcdefghijab}`, ""},
			"a cluster's name has not 33":         {`identityDefaults: {cluster: abcdefghijabcdefghijabcdefghijabc}`, "spec.identityDefaults.cluster"},
			"a negative threshold":                {`deletionProtection: {threshold: -1}`, "spec.deletionProtection.threshold"},
			"a threshold of 0":                    {`deletionProtection: {threshold: 0}`, ""},
			"a negative number of index blobs":    {`health: {indexBlobWarnThreshold: -1}`, "spec.health.indexBlobWarnThreshold"},
			"an action that is none":              {`health: {probe: {onFailure: Panic}}`, "spec.health.probe.onFailure"},
			"rows of no day":                      {`catalog: {retain: {maxAgeDays: 0}}`, "spec.catalog.retain.maxAgeDays"},
			"a mode that is none":                 {`mode: readOnly`, "spec.mode"},
			"a namespace policy that is none":     {`onNamespaceDelete: Retain`, "spec.onNamespaceDelete"},
			"maintenance needs both schedules":    {`maintenance: {schedule: {quick: {cron: "0 */6 * * *"}}}`, "spec.maintenance.schedule.full: Required"},
			"our own labels on pods":              {`moverDefaults: {podLabels: {kopiur.home-operations.com/op: x}}`, "podLabels must not use kopiur.home-operations.com/ keys"},
			"our own annotations on pods":         {`moverDefaults: {podAnnotations: {app.kubernetes.io/managed-by: x}}`, "podAnnotations must not use"},
			"others' labels on pods":              {`moverDefaults: {podLabels: {team: a}}`, ""},

			"a seed of blobs":                  {`seed: {from: {backend: {gcs: {bucket: old}}}, sync: {parallel: 2}}`, ""},
			"a seed of snapshots":              {`seed: {from: {repository: {name: old}}, migrate: {latestOnly: true}}`, ""},
			"a seed from nothing":              {`seed: {from: {}}`, "seed.from must have exactly one of backend, repository"},
			"a seed from two":                  {`seed: {from: {backend: {gcs: {bucket: old}}, repository: {name: old}}}`, "seed.from must have exactly one of"},
			"sync without a backend":           {`seed: {from: {repository: {name: old}}, sync: {}}`, "seed.sync goes with seed.from.backend"},
			"migrate without a repository":     {`seed: {from: {backend: {gcs: {bucket: old}}}, migrate: {}}`, "seed.migrate goes with seed.from.repository"},
			"a seed's backend has its rules":   {`seed: {from: {backend: {s3: {bucket: old, endpoint: "http://minio"}}}}`, "endpoint must not begin with http:// unless"},
			"a ClusterRepository's namespace":  {`seed: {from: {repository: {name: old, kind: ClusterRepository, namespace: apps}}}`, "namespace must not be set when kind is ClusterRepository"},
			"policies of a seed that are none": {`seed: {from: {repository: {name: old}}, migrate: {policies: all}}`, "spec.seed.migrate.policies"},
		})
	})
}

func TestRepositoryServer(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		where := ""
		if base.GetKind() == "ClusterRepository" {
			where = "namespace: web, "
		}
		server := func(fields string) string { return "server: {" + where + fields + "}" }
		check(t, env, base, rows{
			"a server with nothing more":        {server(""), ""},
			"a generated password":              {server("auth: {generate: {}}"), ""},
			"a generated password with a name":  {server("auth: {generate: {username: admin}}"), ""},
			"a password of yours":               {server("auth: {secretRef: {name: s, usernameKey: u, passwordKey: p}}"), ""},
			"a password of yours without a key": {server("auth: {secretRef: {name: s, usernameKey: u}}"), "spec.server.auth.secretRef.passwordKey: Required"},
			"auth of nothing":                   {server("auth: {}"), "server.auth must have exactly one of generate, secretRef, insecure"},
			"auth of null":                      {server("auth: {generate: null}"), "server.auth must have exactly one of"},
			"auth of two":                       {server("auth: {generate: {}, insecure: {acknowledgeInsecure: true}}"), "server.auth must have exactly one of"},
			"no password, acknowledged":         {server("auth: {insecure: {acknowledgeInsecure: true}}"), ""},
			"no password, not acknowledged":     {server("auth: {insecure: {}}"), "server.auth.insecure.acknowledgeInsecure must be true"},
			"no password, denied":               {server("auth: {insecure: {acknowledgeInsecure: false}}"), "server.auth.insecure.acknowledgeInsecure must be true"},
			"a port of 0":                       {server("service: {port: 0}"), "spec.server.service.port"},
			"a Service that is none":            {server("service: {type: ExternalName}"), "spec.server.service.type"},
			"a ReadOnly one leaves it out":      {"mode: ReadOnly\n" + server(""), ""},
			"a ReadOnly one says so":            {"mode: ReadOnly\n" + server("readOnly: true"), ""},
			"a ReadOnly one says otherwise":     {"mode: ReadOnly\n" + server("readOnly: false"), "server.readOnly must not be false when mode is ReadOnly"},
			"a ReadWrite one may be written":    {server("readOnly: false"), ""},
		})
	})
}

func TestRepositoryOnly(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	check(t, env, manifest(t, "Repository", "nas", leastRepository), rows{
		"a server has no namespace":    {`server: {namespace: web}`, "server.namespace is for a ClusterRepository only"},
		"an empty one is none":         {`server: {namespace: ""}`, ""},
		"maintenance has no namespace": {`maintenance: {namespace: ops}`, "maintenance.namespace is for a ClusterRepository only"},
		"an empty one of maintenance":  {`maintenance: {namespace: ""}`, ""},
		"found rows have no namespace": {`catalog: {fallbackNamespace: found}`, "catalog.fallbackNamespace is for a ClusterRepository only"},
		"an empty one of rows":         {`catalog: {fallbackNamespace: ""}`, ""},
		"nobody else's namespaces":     {`allowedNamespaces: {all: true}`, `unknown field "spec.allowedNamespaces"`},
	})
	long := manifest(t, "Repository", "a123456789a123456789a123456789a123456789a123456789a123456789abc", leastRepository)
	says(t, dryRun(t, env, long), "")
	long.SetName(long.GetName() + "d")
	says(t, dryRun(t, env, long), "metadata.name must have at most 63 characters")
}

func TestClusterRepositoryOnly(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "ClusterRepository", "offsite-"+env.Namespace, leastRepository)
	says(t, dryRun(t, env, base), "spec.allowedNamespaces: Required")
	check(t, env, with(t, base, "allowedNamespaces: {all: true}"), rows{
		"a list":                       {`allowedNamespaces: {list: [apps, media]}`, ""},
		"a list of nobody":             {`allowedNamespaces: {list: []}`, ""},
		"a list with twins":            {`allowedNamespaces: {list: [apps, apps]}`, "Duplicate value"},
		"a selector":                   {`allowedNamespaces: {selector: {matchLabels: {backup: "yes"}}}`, ""},
		"all":                          {`allowedNamespaces: {all: true}`, ""},
		"all that is false":            {`allowedNamespaces: {all: false}`, "all must be true"},
		"nobody":                       {`allowedNamespaces: {}`, "allowedNamespaces must have exactly one of list, selector, all"},
		"two ways":                     {`allowedNamespaces: {all: true, list: [apps]}`, "allowedNamespaces must have exactly one of"},
		"a server needs a namespace":   {`server: {}`, "server.namespace is required on a ClusterRepository"},
		"an empty one is none":         {`server: {namespace: ""}`, "server.namespace is required on a ClusterRepository"},
		"a server with a namespace":    {`server: {namespace: web}`, ""},
		"maintenance with a namespace": {`maintenance: {namespace: ops}`, ""},
		"found rows with a namespace":  {`catalog: {fallbackNamespace: found}`, ""},
		"copies of Secrets":            {`credentialProjection: {allowed: true}`, ""},
		"no switch for those who ask":  {`credentialProjection: {enabled: true}`, `unknown field "spec.credentialProjection.enabled"`},
	})
}

func TestRepositoryDefaults(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		who := ""
		if base.GetKind() == "ClusterRepository" {
			who = "allowedNamespaces: {all: true}\n"
		}
		defaults(t, env, base, who+leastRepository+`
mode: ReadWrite
onNamespaceDelete: Orphan
create: {enabled: true}
`)
		// Nothing is added below what was left out: GitOps tools compare what they wrote with what is stored.
		where := ""
		if who != "" {
			where = "namespace: web, "
		}
		defaults(t, env, with(t, base, `
mode: null
onNamespaceDelete: null
create: {}
catalog: {}
deletionProtection: {}
health: {probe: {}}
maintenance: {}
server: {`+where+`auth: {secretRef: {name: s, usernameKey: u, passwordKey: p}}, service: {}}
seed: {from: {repository: {name: old}}, migrate: {}, credentialProjection: {}}
`), who+leastRepository+`
mode: ReadWrite
onNamespaceDelete: Orphan
create: {enabled: true}
catalog: {refreshInterval: 1h}
deletionProtection: {threshold: 10}
health: {indexBlobWarnThreshold: 1000, probe: {enabled: true, failureThreshold: 3, interval: 30m, onFailure: Degrade}}
maintenance: {enabled: true}
server: {`+where+`auth: {secretRef: {name: s, usernameKey: u, passwordKey: p}}, service: {type: ClusterIP, port: 51515}}
seed: {from: {repository: {name: old, kind: Repository}}, migrate: {policies: none}, credentialProjection: {enabled: false}}
`)
	})
}

// everything that a repository can have at once, but for the other variants of unions.
const fullRepository = `
encryption: {passwordSecretRef: {name: password, key: pw}}
create: {enabled: true, splitter: FIXED-4M, hash: BLAKE3-256, encryption: AES256-GCM-HMAC-SHA256, ecc: {algorithm: REED-SOLOMON-CRC32, overheadPercent: 2}}
bootstrap: {failurePolicy: {backoffLimit: 1, activeDeadlineSeconds: 300}}
catalog: {adoption: Adopt, foreignSnapshots: Fallback, periodicRefresh: true, refreshInterval: 1h, retain: {perIdentity: 10, maxAgeDays: 30}}
concurrency: {maxConcurrentJobs: 4}
deletionProtection: {threshold: 5}
health: {indexBlobWarnThreshold: 500, probe: {enabled: true, interval: 10m, failureThreshold: 2, onFailure: Alert}}
identityDefaults: {cluster: home, hostnameExpr: namespace, usernameExpr: policyName}
maintenance:
  enabled: true
  schedule: {quick: {cron: "0 */6 * * *", jitter: 30m, timezone: UTC}, full: {cron: "0 3 * * *", jitter: 1h}, timezone: Europe/Berlin}
  mover: {resources: {limits: {memory: 1Gi}}, cache: {capacity: 2Gi}, inheritSecurityContextFrom: {workloadSelector: {podSelector: {matchLabels: {app: a}}}}}
  failurePolicy: {backoffLimit: 1}
  takeoverPolicy: Never
moverDefaults:
  securityContext: {runAsUser: 1000}
  podSecurityContext: {fsGroup: 1000}
  resources: {requests: {cpu: 100m}}
  cache: {capacity: 2Gi, mode: Persistent, storageClassName: fast, contentCacheSizeMb: 512, metadataCacheSizeMb: 512}
  scratch: {capacity: 10Gi, storageClassName: fast}
  nodeSelector: {zone: a}
  tolerations: [{key: a, operator: Exists}]
  sourceColocation: {mode: Auto}
  ttlSecondsAfterFinished: 60
  throttle: {uploadBytesPerSecond: 1, downloadBytesPerSecond: 1, readOpsPerSecond: 1, writeOpsPerSecond: 1}
  podLabels: {team: a}
  podAnnotations: {team: a}
parameters: {epoch: {minDuration: 24h, refreshFrequency: 20m, advanceOnCount: 20, advanceOnSizeMiB: 10, checkpointFrequency: 7, deleteParallelism: 4}, blobRetention: {governance: {period: 24h}}}
scheduleDefaults: {timezone: Europe/Berlin, jitter: 10m}
suspend: false
`

// The two kinds share their spec, so one of them is asked about it.
func TestRepositoryNulls(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for name, fragment := range map[string]string{
		"s3": fullRepository + `
backend: {s3: {bucket: b, prefix: p, endpoint: e, region: r, tls: {caBundleRef: {configMapName: c, key: k}}, auth: {secretRef: {name: k, namespace: apps}}}}
seed: {from: {backend: {azure: {container: c, prefix: p, storageAccount: a, auth: {secretRef: {name: k}}}}}, sync: {parallel: 1, maxDownloadSpeedBytesPerSecond: 1}, failurePolicy: {backoffLimit: 1}}
server: {auth: {generate: {username: u}}, readOnly: true, service: {type: NodePort, port: 80, annotations: {a: b}}, resources: {limits: {cpu: "1"}}}
`,
		"a claim": `
backend: {filesystem: {path: /r, volume: {pvc: {name: c}}}}
seed: {from: {repository: {name: old, namespace: apps}}, allowEmptySource: true, credentialProjection: {enabled: true}, migrate: {latestOnly: true, parallel: 1, policies: copy, throttle: {source: {readOpsPerSecond: 1}, destination: {}}}}
server: {auth: {secretRef: {name: s, usernameKey: u, passwordKey: p}}}
`,
		"sftp":   `backend: {sftp: {host: h, path: /p, port: 22, username: u, auth: {secretRef: {name: k}}}}`,
		"rclone": `backend: {rclone: {remotePath: "a:b", configSecretRef: {name: k}, startupTimeout: 1m}}`,
		"gdrive": `backend: {gdrive: {folderId: f, credentialsSecretRef: {name: k}}}`,
		"webDav": `backend: {webDav: {url: "https://h/p", auth: {secretRef: {name: k}}}}`,
		"b2":     `backend: {b2: {bucket: b, prefix: p, auth: {secretRef: {name: k}}}}`,
		"gcs":    `backend: {gcs: {bucket: b, prefix: p, auth: {workloadIdentity: {serviceAccountName: sa}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Foreign snapshots ask for the cluster's name.
			nulls(t, env, "repositories", with(t, manifest(t, "Repository", "nas", leastRepository), fragment), "spec.identityDefaults", "spec.identityDefaults.cluster")
		})
	}
	cluster := with(t, manifest(t, "ClusterRepository", "nas-"+env.Namespace, leastRepository), `
allowedNamespaces: {selector: {matchLabels: {a: b}}}
credentialProjection: {allowed: true}
server: {namespace: web}
maintenance: {namespace: ops}
`)
	nulls(t, env, "clusterrepositories", cluster, "spec.server.namespace")
}

func TestRepositoryUpdates(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		change(t, env, with(t, base, `create: {splitter: FIXED-4M, hash: BLAKE3-256, encryption: AES256-GCM-HMAC-SHA256, ecc: {overheadPercent: 2}}`), rows{
			"the same":                                {`create: {splitter: FIXED-4M, hash: BLAKE3-256, encryption: AES256-GCM-HMAC-SHA256, ecc: {overheadPercent: 2}}`, ""},
			"another splitter":                        {`create: {splitter: FIXED-8M}`, "create.splitter cannot change"},
			"another hash":                            {`create: {hash: BLAKE2B-256}`, "create.hash cannot change"},
			"another encryption":                      {`create: {encryption: CHACHA20-POLY1305-HMAC-SHA256}`, "create.encryption cannot change"},
			"another error correction":                {`create: {ecc: {overheadPercent: 3}}`, "create.ecc cannot change"},
			"an old client that knows none of it":     {`create: {enabled: false}`, ""},
			"an old client that does not know create": {`create: null`, ""},
			"another Secret with the password":        {`encryption: {passwordSecretRef: {name: renamed, key: pw}}`, ""},
			"another place":                           {`backend: {gcs: {bucket: moved}}`, ""},
		})
		later := base.DeepCopy()
		later.SetName(base.GetName() + "-later")
		change(t, env, later, rows{
			"what was left out is added": {`create: {splitter: FIXED-4M, hash: BLAKE3-256, encryption: AES256-GCM-HMAC-SHA256, ecc: {overheadPercent: 2}}`, ""},
			"everything is added":        {fullRepository, ""},
		})
	})
}

func TestRepositoryOlderThanTheRules(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		plural := "repositories"
		if base.GetKind() == "ClusterRepository" {
			plural = "clusterrepositories"
		}
		old := map[string]*unstructured.Unstructured{}
		for name, fragment := range map[string]string{
			"no backend":              `backend: {}`,
			"an endpoint with a path": `backend: {s3: {bucket: b, endpoint: "http://minio/b"}}`,
			"both kinds of auth":      `backend: {s3: {bucket: b, auth: {secretRef: {name: k}, workloadIdentity: {serviceAccountName: sa}}}}`,
			"no lock":                 `parameters: {blobRetention: {}}`,
			"a negative threshold":    `deletionProtection: {threshold: -5}`,
			"a seed from nothing":     `seed: {from: {}}`,
			"no acknowledgement":      `server: {auth: {insecure: {}}}`,
			"a long cluster":          `identityDefaults: {cluster: Home.Example.Org.With.A.Very.Long.Name}`,
		} {
			o := with(t, base, fragment)
			o.SetName("old-" + string(rune('a'+len(old))))
			old[name] = o
		}
		long := base.DeepCopy()
		long.SetName("a123456789a123456789a123456789a123456789a123456789a123456789abcd")
		old["a long name"] = long
		olderThanTheRules(t, env, plural, old)
	})
}

func TestRepositoryColumns(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	assert.Equal(t, []string{"Name", "Phase", "Backend", "Server", "IndexBlobs", "Age"}, columns(t, env, "repositories"))
	assert.Equal(t, []string{"Name", "Phase", "Backend", "Namespaces", "Server", "IndexBlobs", "Age"}, columns(t, env, "clusterrepositories"))
	names(t, env, "repositories", "kopiarepo")
	names(t, env, "clusterrepositories", "kopiacrepo")
}
