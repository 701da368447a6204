// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// texts are the errors and warnings of a check, each in one line.
func texts(f Findings) (errs, warnings string) {
	var lines []string
	for _, e := range f.Errors {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n"), strings.Join(f.Warnings, "\n")
}

// matches checks that the findings are the wanted ones; "" wants none.
func matches(t *testing.T, f Findings, wantErr, wantWarning string) {
	t.Helper()
	errs, warnings := texts(f)
	for _, c := range []struct{ what, got, want string }{{"errors", errs, wantErr}, {"warnings", warnings, wantWarning}} {
		if c.want == "" {
			assert.Empty(t, c.got, c.what)
			continue
		}
		assert.Contains(t, c.got, c.want, c.what)
	}
}

func secretKeys(name string) *kopiurv1.BackendAuth {
	return &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: name}}
}

func workloadIdentity(account string) *kopiurv1.BackendAuth {
	return &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: account}}
}

func inS3(change func(*kopiurv1.S3Backend)) kopiurv1.Backend {
	s := kopiurv1.S3Backend{Bucket: "backups", Auth: secretKeys("keys")}
	change(&s)
	return kopiurv1.Backend{S3: &s}
}

func atEndpoint(endpoint string, plain bool) kopiurv1.Backend {
	return inS3(func(s *kopiurv1.S3Backend) {
		s.Endpoint = endpoint
		if plain {
			s.TLS = &kopiurv1.S3TLS{DisableTLS: true}
		}
	})
}

func onNFS(server, export string) kopiurv1.Backend {
	return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{Server: server, Path: export}}}}
}

func onClaim(name string) kopiurv1.Backend {
	return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: name}}}}
}

func overSFTP(change func(*kopiurv1.SFTPBackend)) kopiurv1.Backend {
	s := kopiurv1.SFTPBackend{Host: "nas.local", Path: "/backups", Username: "kopia", Auth: secretKeys("ssh")}
	change(&s)
	return kopiurv1.Backend{SFTP: &s}
}

func overWebDAV(url string) kopiurv1.Backend {
	return kopiurv1.Backend{WebDAV: &kopiurv1.WebDAVBackend{URL: url, Auth: secretKeys("dav")}}
}

func behindRclone(path string, config bool) kopiurv1.Backend {
	r := kopiurv1.RcloneBackend{RemotePath: path}
	if config {
		r.ConfigSecretRef = &kopiurv1.SecretRef{Name: "rclone"}
	}
	return kopiurv1.Backend{Rclone: &r}
}

func inAzure(account string, auth *kopiurv1.BackendAuth) kopiurv1.Backend {
	return kopiurv1.Backend{Azure: &kopiurv1.AzureBackend{Container: "backups", StorageAccount: account, Auth: auth}}
}

func TestBackend(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		backend            kopiurv1.Backend
		wantErr, wantWarns string
	}{
		"none is refused and all are named":        {kopiurv1.Backend{}, "spec.backend: Required value: write exactly one of s3, azure, gcs, b2, filesystem, sftp, webDav, rclone, gdrive", ""},
		"two are refused and both are named":       {kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b"}, GDrive: &kopiurv1.GDriveBackend{FolderID: "1AbC"}}, "gcs and gdrive are set", ""},
		"a bucket at Amazon's endpoint passes":     {atEndpoint("", false), "", ""},
		"host and port pass":                       {atEndpoint("minio.storage.svc:9000", false), "", ""},
		"an address passes":                        {atEndpoint("192.168.1.10:9000", false), "", ""},
		"an IPv6 address passes":                   {atEndpoint("[fd00::10]:9000", false), "", ""},
		"https:// is dropped with a warning":       {atEndpoint("https://s3.example.org", false), "", "spec.backend.s3.endpoint: the scheme is dropped; write s3.example.org"},
		"http:// needs disableTls":                 {atEndpoint("http://minio:9000", false), "spec.backend.s3.endpoint: Invalid value: \"http://minio:9000\": write host or host:port, and tls.disableTls: true", ""},
		"http:// with disableTls is dropped":       {atEndpoint("http://minio:9000", true), "", "write minio:9000"},
		"https:// with disableTls contradicts":     {atEndpoint("https://minio:9000", true), "contradict each other", ""},
		"a path is refused and prefix named":       {atEndpoint("s3.example.org/backups", false), "a path below the bucket is prefix", ""},
		"so is a slash at the end":                 {atEndpoint("https://s3.example.org/", false), "without a path", ""},
		"another scheme is refused":                {atEndpoint("s3://backups", false), "of schemes only https://", ""},
		"a port that is none is refused":           {atEndpoint("s3.example.org:https", false), "write host or host:port", ""},
		"a bucket with a folder is refused":        {inS3(func(s *kopiurv1.S3Backend) { s.Bucket = "backups/apps" }), "what follows a / into prefix", ""},
		"a bucket is needed":                       {inS3(func(s *kopiurv1.S3Backend) { s.Bucket = "" }), "spec.backend.s3.bucket: Required", ""},
		"a prefix is left as it stands":            {inS3(func(s *kopiurv1.S3Backend) { s.Prefix = "//odd prefix" }), "", ""},
		"no auth is the mover's environment":       {inS3(func(s *kopiurv1.S3Backend) { s.Auth = nil }), "", ""},
		"an empty auth too":                        {inS3(func(s *kopiurv1.S3Backend) { s.Auth = &kopiurv1.BackendAuth{} }), "", ""},
		"a workload identity passes":               {inS3(func(s *kopiurv1.S3Backend) { s.Auth = workloadIdentity("kopiur-backup") }), "", ""},
		"keys and identity at once are refused":    {inS3(func(s *kopiurv1.S3Backend) { s.Auth.WorkloadIdentity = workloadIdentity("sa").WorkloadIdentity }), "spec.backend.s3.auth: Forbidden: secretRef and workloadIdentity are set", ""},
		"a name that no Secret has is refused":     {inS3(func(s *kopiurv1.S3Backend) { s.Auth = secretKeys("My_Keys") }), "spec.backend.s3.auth.secretRef.name: Invalid value: \"My_Keys\"", ""},
		"a Secret of another namespace is refused": {inS3(func(s *kopiurv1.S3Backend) { s.Auth.SecretRef.Namespace = "vault" }), "movers mount Secrets from apps, the Repository's namespace: put the Secret there", ""},
		"its own namespace may be spelled out":     {inS3(func(s *kopiurv1.S3Backend) { s.Auth.SecretRef.Namespace = "apps" }), "", ""},
		"a CA bundle needs a name":                 {inS3(func(s *kopiurv1.S3Backend) { s.TLS = &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{}} }), "spec.backend.s3.tls.caBundleRef.configMapName: Required", ""},
		"a CA bundle is no use in plain HTTP": {inS3(func(s *kopiurv1.S3Backend) {
			s.TLS = &kopiurv1.S3TLS{DisableTLS: true, CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}}
		}), "", "not used with tls.disableTls"},
		"azure with an account passes":               {inAzure("mybackups", secretKeys("azure")), "", ""},
		"azure may name the account in its Secret":   {inAzure("", secretKeys("azure")), "", ""},
		"azure with an identity needs the account":   {inAzure("", workloadIdentity("sa")), "spec.backend.azure.storageAccount: Required value", ""},
		"azure with an identity and an account":      {inAzure("mybackups", workloadIdentity("sa")), "", ""},
		"an account with its domain is refused":      {inAzure("mybackups.blob.core.windows.net", secretKeys("azure")), "its domain is storageDomain", ""},
		"gcs passes":                                 {kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "backups", Prefix: "apps/", Auth: workloadIdentity("sa")}}, "", ""},
		"b2 passes":                                  {kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "backups", Auth: secretKeys("b2")}}, "", ""},
		"b2 needs a Secret":                          {kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "backups"}}, "spec.backend.b2.auth.secretRef: Required value", ""},
		"b2 knows no identity":                       {kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "backups", Auth: workloadIdentity("sa")}}, "spec.backend.b2.auth.workloadIdentity: Forbidden: it works with s3, azure and gcs only", ""},
		"a claim passes":                             {onClaim("backups"), "", ""},
		"an NFS export passes":                       {onNFS("nas.local", "/export/backups"), "", ""},
		"a whole NFS server passes":                  {onNFS("nas.local", "/"), "", ""},
		"an NFS export is absolute":                  {onNFS("nas.local", "export"), "spec.backend.filesystem.volume.nfs.path: Invalid value", ""},
		"an NFS server is no address with a path":    {onNFS("nas.local:/export", "/export"), "write the host alone", ""},
		"a folder of the node passes":                {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mnt/backups"}}, "", ""},
		"a relative path is refused":                 {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "backups"}}, "spec.backend.filesystem.path: Invalid value: \"backups\"", ""},
		"the root is refused":                        {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/"}}, "below /", ""},
		"a path with dots in a name is taken":        {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/data/my..repo"}}, "", ""},
		"a port above all ports is refused":          {kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b", Endpoint: "s3.example.com:99999"}}, "write host or host:port", ""},
		"a path that climbs is refused":              {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mnt/../etc"}}, "without ..", ""},
		"a volume has one source":                    {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{}}}, "spec.backend.filesystem.volume: Required value: write exactly one of pvc, nfs", ""},
		"sftp passes":                                {overSFTP(func(*kopiurv1.SFTPBackend) {}), "", ""},
		"sftp with an IPv6 address passes":           {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Host = "fd00::10" }), "", ""},
		"sftp takes the port for itself":             {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Host = "nas.local:2222" }), "the number into port", ""},
		"sftp takes the user for itself":             {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Host = "kopia@nas.local" }), "into username", ""},
		"sftp knows no port above 65535":             {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Port = 70000 }), "spec.backend.sftp.port: Invalid value: 70000", ""},
		"sftp needs a Secret":                        {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Auth = nil }), "KOPIA_SFTP_KNOWN_HOSTS", ""},
		"sftp needs a path":                          {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Path = "" }), "spec.backend.sftp.path: Required", ""},
		"webDav passes":                              {overWebDAV("https://cloud.example.org/dav/kopia"), "", ""},
		"webDav without auth is anonymous":           {kopiurv1.Backend{WebDAV: &kopiurv1.WebDAVBackend{URL: "https://nas/dav"}}, "", ""},
		"webDav in the clear is warned of":           {overWebDAV("http://nas.local/dav"), "", "in clear"},
		"webDav needs a host":                        {overWebDAV("https:///dav"), "spec.backend.webDav.url: Invalid value", ""},
		"webDav needs a scheme":                      {overWebDAV("nas.local/dav"), "write https://host/path", ""},
		"webDav takes no query":                      {overWebDAV("https://nas/dav?token=1"), "without ? and #", ""},
		"rclone passes":                              {behindRclone("box:backups/kopia", true), "", ""},
		"rclone's remote may be made on the spot":    {behindRclone(":memory:backups", false), "", ""},
		"rclone needs a remote":                      {behindRclone("/backups", true), "for a folder of a volume there is backend.filesystem", ""},
		"rclone needs a path":                        {behindRclone("", true), "spec.backend.rclone.remotePath: Required", ""},
		"rclone needs the remote's configuration":    {behindRclone("box:backups", false), "rclone.conf with the remote box", ""},
		"rclone's timeout is a duration":             {kopiurv1.Backend{Rclone: &kopiurv1.RcloneBackend{RemotePath: ":memory:", StartupTimeout: "1 minute"}}, "spec.backend.rclone.startupTimeout: Invalid value: \"1 minute\": write it like 90s", ""},
		"gdrive passes without a Secret":             {kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "1AbC-def_9"}}, "", ""},
		"gdrive wants the id and not the address":    {kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "https://drive.google.com/drive/folders/1AbC"}}, "write the id alone", ""},
		"gdrive's Secret is mounted like the others": {kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "1AbC", CredentialsSecretRef: &kopiurv1.SecretRef{Name: "google", Namespace: "vault"}}}, "put the Secret there", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := backend(field.NewPath("spec", "backend"), tc.backend, secretsFrom{namespace: "apps", whose: "the Repository's namespace"})
			matches(t, f, tc.wantErr, tc.wantWarns)
		})
	}
}

func TestBackendRepeatsNoPassword(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]kopiurv1.Backend{
		"in an endpoint":                          atEndpoint("https://user:hunter2@s3.example.org", false),
		"in a WebDAV address":                     overWebDAV("https://user:hunter2@nas/dav"),
		"in a WebDAV address that cannot be read": overWebDAV("https://user:hunter2@nas:port/dav"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs, warnings := texts(backend(field.NewPath("spec", "backend"), b, secretsFrom{}))
			assert.NotEmpty(t, errs)
			assert.NotContains(t, errs+warnings, "hunter2")
		})
	}
}

func TestSameLocation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, b kopiurv1.Backend
		want bool
	}{
		"one bucket":                               {atEndpoint("", false), atEndpoint("", false), true},
		"one bucket with other keys":               {inS3(func(s *kopiurv1.S3Backend) { s.Auth = secretKeys("other") }), atEndpoint("", false), true},
		"one bucket, one endpoint with a scheme":   {atEndpoint("https://s3.example.org", false), atEndpoint("S3.example.org:443", false), true},
		"Amazon's endpoint spelled out":            {atEndpoint("s3.amazonaws.com", false), atEndpoint("", false), true},
		"one bucket name at two endpoints":         {atEndpoint("s3.example.org", false), atEndpoint("s3.example.com", false), false},
		"one bucket with two prefixes":             {inS3(func(s *kopiurv1.S3Backend) { s.Prefix = "a/" }), inS3(func(s *kopiurv1.S3Backend) { s.Prefix = "b/" }), false},
		"two backends":                             {atEndpoint("", false), kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "backups"}}, false},
		"one GCS bucket":                           {kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b"}}, kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b"}}, true},
		"one B2 bucket":                            {kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "b"}}, kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "b"}}, true},
		"one container":                            {inAzure("one", nil), inAzure("one", secretKeys("k")), true},
		"one container name in two accounts":       {inAzure("one", nil), inAzure("two", nil), false},
		"one claim, mounted elsewhere":             {onClaim("c"), kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/other", Volume: onClaim("c").Filesystem.Volume}}, true},
		"two claims":                               {onClaim("c"), onClaim("d"), false},
		"one export":                               {onNFS("NAS.local", "/export/"), onNFS("nas.local", "/export"), true},
		"a claim and an export":                    {onClaim("c"), onNFS("nas", "/c"), false},
		"a claim and a folder of the node":         {onClaim("c"), kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository"}}, false},
		"one folder of the node":                   {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mnt/b/"}}, kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mnt/b"}}, true},
		"one folder of an SSH server":              {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Port = 22 }), overSFTP(func(s *kopiurv1.SFTPBackend) { s.Path = "/backups/" }), true},
		"two ports of an SSH server":               {overSFTP(func(s *kopiurv1.SFTPBackend) { s.Port = 2222 }), overSFTP(func(*kopiurv1.SFTPBackend) {}), false},
		"one folder of a WebDAV server":            {overWebDAV("https://nas/dav/"), overWebDAV("https://nas/dav"), true},
		"one path of rclone":                       {behindRclone("box:b/", true), behindRclone("box:b", true), true},
		"one folder of Google Drive":               {kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "1"}}, kopiurv1.Backend{GDrive: &kopiurv1.GDriveBackend{FolderID: "1"}}, true},
		"nothing and nothing are not one location": {kopiurv1.Backend{}, kopiurv1.Backend{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, SameLocation(tc.a, tc.b))
			assert.Equal(t, tc.want, SameLocation(tc.b, tc.a), "the other way round")
		})
	}
}

func TestMixedAuth(t *testing.T) {
	t.Parallel()
	s3 := func(a *kopiurv1.BackendAuth) kopiurv1.Backend {
		return inS3(func(s *kopiurv1.S3Backend) { s.Auth = a })
	}
	gcs := func(a *kopiurv1.BackendAuth) kopiurv1.Backend {
		return kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b", Auth: a}}
	}
	for name, tc := range map[string]struct {
		a, b kopiurv1.Backend
		want string
	}{
		"keys on both sides":                       {s3(secretKeys("a")), s3(secretKeys("b")), ""},
		"one identity on both sides":               {s3(workloadIdentity("sa")), s3(workloadIdentity("sa")), ""},
		"two identities in one pod":                {s3(workloadIdentity("sa")), gcs(workloadIdentity("other")), "one ServiceAccount"},
		"keys and identity of one cloud":           {s3(secretKeys("a")), s3(workloadIdentity("sa")), "secretRef on both, or workloadIdentity on both"},
		"identity and keys of one cloud":           {s3(workloadIdentity("sa")), s3(secretKeys("a")), "secretRef on both, or workloadIdentity on both"},
		"keys of one cloud, identity of another":   {s3(secretKeys("a")), gcs(workloadIdentity("sa")), ""},
		"keys beside a store that has no identity": {s3(workloadIdentity("sa")), onClaim("c"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, MixedAuth(field.NewPath("spec", "seed", "from", "backend", "auth"), tc.a, tc.b), tc.want, "")
		})
	}
}
