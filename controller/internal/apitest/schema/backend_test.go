// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func TestRepositoryBackends(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, env *testenv.Env, base *unstructured.Unstructured) {
		check(t, env, base, rows{
			"s3 passes":          {`backend: {s3: {bucket: b, prefix: apps/, endpoint: "minio:9000", region: eu, tls: {disableTls: true}, auth: {secretRef: {name: k}}}}`, ""},
			"azure passes":       {`backend: {azure: {container: c, prefix: p, storageAccount: a, storageDomain: blob.core.windows.net, auth: {workloadIdentity: {serviceAccountName: sa}}}}`, ""},
			"gcs passes":         {`backend: {gcs: {bucket: b, prefix: p, auth: {secretRef: {name: k}}}}`, ""},
			"b2 passes":          {`backend: {b2: {bucket: b, prefix: p, auth: {secretRef: {name: k}}}}`, ""},
			"a claim passes":     {`backend: {filesystem: {path: /repository, volume: {pvc: {name: c}}}}`, ""},
			"an export passes":   {`backend: {filesystem: {path: /repository, volume: {nfs: {server: nas.local, path: /export}}}}`, ""},
			"a folder passes":    {`backend: {filesystem: {path: /mnt/backups}}`, ""},
			"sftp passes":        {`backend: {sftp: {host: nas.local, path: /backups, port: 2222, username: kopia, auth: {secretRef: {name: k}}}}`, ""},
			"webDav passes":      {`backend: {webDav: {url: "https://nas.local/dav", auth: {secretRef: {name: k}}}}`, ""},
			"rclone passes":      {`backend: {rclone: {remotePath: "box:backups", configSecretRef: {name: k}, startupTimeout: 30s}}`, ""},
			"gdrive passes":      {`backend: {gdrive: {folderId: 1AbC, credentialsSecretRef: {name: k}}}`, ""},
			"none is refused":    {`backend: {}`, "backend must have exactly one of s3, azure, gcs, b2, filesystem, sftp, webDav, rclone, gdrive"},
			"two are refused":    {`backend: {gcs: {bucket: b}, b2: {bucket: b}}`, "backend must have exactly one of"},
			"null is none":       {`backend: {s3: null}`, "backend must have exactly one of"},
			"null beside one":    {`backend: {s3: {bucket: b}, gcs: null, filesystem: null}`, ""},
			"unknown is named":   {`backend: {s3: {bucket: b, insecure: true}}`, `unknown field "spec.backend.s3.insecure"`},
			"a bucket is a must": {`backend: {s3: {}}`, "spec.backend.s3.bucket: Required"},

			"an endpoint may have https://":            {`backend: {s3: {bucket: b, endpoint: "https://s3.example.org:443"}}`, ""},
			"an endpoint may be empty":                 {`backend: {s3: {bucket: b, endpoint: ""}}`, ""},
			"an endpoint may be an IPv6 address":       {`backend: {s3: {bucket: b, endpoint: "[fd00::10]:9000"}}`, ""},
			"an endpoint has no path":                  {`backend: {s3: {bucket: b, endpoint: s3.example.org/backups}}`, "endpoint must be host or host:port, without a path"},
			"an endpoint has no slash":                 {`backend: {s3: {bucket: b, endpoint: "https://s3.example.org/"}}`, "endpoint must be host or host:port, without a path"},
			"an endpoint has no other scheme":          {`backend: {s3: {bucket: b, endpoint: "s3://backups"}}`, "endpoint must be host or host:port"},
			"an endpoint has no password":              {`backend: {s3: {bucket: b, endpoint: "user:pass@s3.example.org"}}`, "endpoint must be host or host:port"},
			"http:// needs disableTls":                 {`backend: {s3: {bucket: b, endpoint: "http://minio:9000"}}`, "endpoint must not begin with http:// unless tls.disableTls is true"},
			"http:// needs disableTls to be true":      {`backend: {s3: {bucket: b, endpoint: "http://minio:9000", tls: {disableTls: false}}}`, "endpoint must not begin with http:// unless"},
			"http:// with disableTls passes":           {`backend: {s3: {bucket: b, endpoint: "http://minio:9000", tls: {disableTls: true}}}`, ""},
			"auth may be empty":                        {`backend: {s3: {bucket: b, auth: {}}}`, ""},
			"auth has one kind":                        {`backend: {s3: {bucket: b, auth: {secretRef: {name: k}, workloadIdentity: {serviceAccountName: sa}}}}`, "auth must have at most one of secretRef, workloadIdentity"},
			"azure with an identity needs the account": {`backend: {azure: {container: c, auth: {workloadIdentity: {serviceAccountName: sa}}}}`, "azure.storageAccount is required with auth.workloadIdentity"},
			"azure's account must not be empty then":   {`backend: {azure: {container: c, storageAccount: "", auth: {workloadIdentity: {serviceAccountName: sa}}}}`, "azure.storageAccount is required with auth.workloadIdentity"},
			"azure with a Secret may leave it out":     {`backend: {azure: {container: c, auth: {secretRef: {name: k}}}}`, ""},
			"b2 knows no identity":                     {`backend: {b2: {bucket: b, auth: {workloadIdentity: {serviceAccountName: sa}}}}`, "workloadIdentity works with s3, azure and gcs only"},
			"sftp knows no identity":                   {`backend: {sftp: {host: h, path: /p, auth: {workloadIdentity: {serviceAccountName: sa}}}}`, "workloadIdentity works with s3, azure and gcs only"},
			"webDav knows no identity":                 {`backend: {webDav: {url: "https://h", auth: {workloadIdentity: {serviceAccountName: sa}}}}`, "workloadIdentity works with s3, azure and gcs only"},
			"a volume has a source":                    {`backend: {filesystem: {path: /r, volume: {}}}`, "volume must have exactly one of pvc, nfs"},
			"a volume has one source":                  {`backend: {filesystem: {path: /r, volume: {pvc: {name: c}, nfs: {server: s, path: /e}}}}`, "volume must have exactly one of pvc, nfs"},
			"a path is absolute":                       {`backend: {filesystem: {path: backups}}`, "path must be absolute, below /"},
			"a path is below the root":                 {`backend: {filesystem: {path: /}}`, "path must be absolute, below /"},
			"a path does not climb":                    {`backend: {filesystem: {path: /mnt/../etc}}`, "must not have .. in it"},
			"an export is absolute":                    {`backend: {filesystem: {path: /r, volume: {nfs: {server: s, path: e}}}}`, "path must be absolute"},
			"a port of 0 is the default":               {`backend: {sftp: {host: h, path: /p, port: 0}}`, ""},
			"a port is at most 65535":                  {`backend: {sftp: {host: h, path: /p, port: 65536}}`, "spec.backend.sftp.port"},
			"a WebDAV address has a scheme":            {`backend: {webDav: {url: nas.local/dav}}`, "url must begin with https:// or http://"},
			"a WebDAV address has a host":              {`backend: {webDav: {url: "https:///dav"}}`, "url must begin with https:// or http://"},
			"rclone has a remote":                      {`backend: {rclone: {remotePath: /backups}}`, "remotePath must be remote:path"},
			"rclone's remote may be made up":           {`backend: {rclone: {remotePath: ":memory:backups"}}`, ""},
		})
	})
}

// Two variants of every pair, and every one alone: the schema and the checks that run without it have to agree.
func TestRepositoryUnionsAgree(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	base := manifest(t, "Repository", "nas", leastRepository)
	variants := []string{
		"s3: {bucket: b}", "azure: {container: c, storageAccount: a}", "gcs: {bucket: b}", "b2: {bucket: b, auth: {secretRef: {name: k}}}",
		"filesystem: {path: /r}", "sftp: {host: h, path: /p, auth: {secretRef: {name: k}}}", "webDav: {url: \"https://h\"}",
		"rclone: {remotePath: \":memory:\"}", "gdrive: {folderId: f}",
	}
	for i, one := range variants {
		for _, other := range variants[i:] {
			fragment := one
			if other != one {
				fragment += ", " + other
			}
			t.Run(fragment, func(t *testing.T) {
				t.Parallel()
				o := with(t, base, "backend: {"+fragment+"}")
				var typed kopiurv1.Repository
				require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed))
				assert.Equal(t, dryRun(t, env, o) == nil, validation.Repository(&typed).Err() == nil)
			})
		}
	}
}
