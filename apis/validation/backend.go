// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// backend checks where a repository is stored: the one of a repository, the source of a seed, the destination of a
// replication.
func backend(at *field.Path, b kopiurv1.Backend, from secretsFrom) Findings {
	f := oneOf(at,
		variant{"s3", b.S3 != nil}, variant{"azure", b.Azure != nil}, variant{"gcs", b.GCS != nil}, variant{"b2", b.B2 != nil},
		variant{"filesystem", b.Filesystem != nil}, variant{"sftp", b.SFTP != nil}, variant{"webDav", b.WebDAV != nil},
		variant{"rclone", b.Rclone != nil}, variant{"gdrive", b.GDrive != nil})
	if s := b.S3; s != nil {
		f.Merge(s3(at.Child("s3"), *s, from))
	}
	if a := b.Azure; a != nil {
		f.Merge(azure(at.Child("azure"), *a, from))
	}
	if g := b.GCS; g != nil {
		at := at.Child("gcs")
		f.Merge(bucket(at.Child("bucket"), g.Bucket))
		f.Merge(auth(at.Child("auth"), g.Auth, from))
	}
	if s := b.B2; s != nil {
		at := at.Child("b2")
		f.Merge(bucket(at.Child("bucket"), s.Bucket))
		f.Merge(secretAuth(at.Child("auth"), s.Auth, from))
		if s.Auth == nil || s.Auth.SecretRef == nil && s.Auth.WorkloadIdentity == nil {
			f.required(at.Child("auth", "secretRef"), "write the name of a Secret with the keys B2_KEY_ID and B2_KEY: b2 has no other credentials")
		}
	}
	if fs := b.Filesystem; fs != nil {
		f.Merge(filesystem(at.Child("filesystem"), *fs))
	}
	if s := b.SFTP; s != nil {
		f.Merge(sftp(at.Child("sftp"), *s, from))
	}
	if w := b.WebDAV; w != nil {
		f.Merge(webDAV(at.Child("webDav"), *w, from))
	}
	if r := b.Rclone; r != nil {
		f.Merge(rclone(at.Child("rclone"), *r, from))
	}
	if g := b.GDrive; g != nil {
		at := at.Child("gdrive")
		f.Merge(present(at.Child("folderId"), g.FolderID, "write the id of the folder, the last part of its address in the browser"))
		if strings.ContainsAny(g.FolderID, "/:? ") {
			f.invalid(at.Child("folderId"), g.FolderID, "write the id alone, the last part of the folder's address in the browser")
		}
		if ref := g.CredentialsSecretRef; ref != nil {
			f.Merge(secretRef(at.Child("credentialsSecretRef"), *ref, from))
		}
	}
	return f
}

func bucket(at *field.Path, s string) Findings {
	f := present(at, s, "write the name of the bucket")
	if strings.ContainsAny(s, "/ ") {
		f.invalid(at, s, "write the bucket alone, and what follows a / into prefix")
	}
	return f
}

// hostPort is host, host:port or [address]:port.
var hostPort = regexp.MustCompile(`^([^\[\]/?#@:\s]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$`)

// portOf reports whether the port, if host names one, is one.
func portOf(host string) bool {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return true
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65535
}

func s3(at *field.Path, s kopiurv1.S3Backend, from secretsFrom) Findings {
	f := bucket(at.Child("bucket"), s.Bucket)
	endpoint := at.Child("endpoint")
	plain := s.TLS != nil && s.TLS.DisableTLS
	host := s.Host()
	switch {
	case s.Endpoint == "":
	case strings.Contains(host, "://"):
		f.invalid(endpoint, s.Endpoint, "write host or host:port; of schemes only https:// may stand in front of it")
	case strings.Contains(host, "@"):
		f.forbidden(endpoint, "an endpoint holds no credentials: write host or host:port, and the keys into the Secret of auth.secretRef")
	case strings.Contains(host, "/"):
		f.invalid(endpoint, s.Endpoint, "write host or host:port without a path; a path below the bucket is prefix")
	case !hostPort.MatchString(host) || !portOf(host):
		f.invalid(endpoint, s.Endpoint, "write host or host:port, such as minio.storage.svc:9000")
	case strings.HasPrefix(s.Endpoint, "http://") && !plain:
		f.invalid(endpoint, s.Endpoint, "write host or host:port, and tls.disableTls: true where the store speaks plain HTTP")
	case strings.HasPrefix(s.Endpoint, "https://") && plain:
		f.invalid(endpoint, s.Endpoint, "https:// and tls.disableTls: true contradict each other: keep one of them")
	case host != s.Endpoint:
		f.warn(endpoint, "the scheme is dropped; write %s", host)
	}
	if t := s.TLS; t != nil && t.CABundleRef != nil {
		at := at.Child("tls", "caBundleRef")
		f.Merge(name(at.Child("configMapName"), t.CABundleRef.ConfigMapName))
		f.Merge(dataKey(at.Child("key"), t.CABundleRef.Key))
		if plain {
			f.warn(at, "it is not used with tls.disableTls: true")
		}
	}
	f.Merge(auth(at.Child("auth"), s.Auth, from))
	return f
}

func azure(at *field.Path, a kopiurv1.AzureBackend, from secretsFrom) Findings {
	f := present(at.Child("container"), a.Container, "write the name of the container")
	f.Merge(auth(at.Child("auth"), a.Auth, from))
	account := at.Child("storageAccount")
	switch {
	case strings.ContainsAny(a.StorageAccount, "./: "):
		f.invalid(account, a.StorageAccount, "write the account's name alone, such as mybackups; its domain is storageDomain")
	case a.StorageAccount != "":
	case a.Auth == nil || a.Auth.SecretRef == nil:
		f.required(account, "write the account's name: without auth.secretRef there is no Secret with the key AZURE_STORAGE_ACCOUNT")
	}
	if d := a.StorageDomain; d != "" && len(validation.IsDNS1123Subdomain(d)) > 0 {
		f.invalid(at.Child("storageDomain"), d, "write a domain, such as blob.core.windows.net")
	}
	return f
}

func filesystem(at *field.Path, fs kopiurv1.FilesystemBackend) Findings {
	var f Findings
	if p := fs.Path; !strings.HasPrefix(p, "/") || len(p) < 2 || slices.Contains(strings.Split(p, "/"), "..") {
		f.invalid(at.Child("path"), p, "write an absolute path below /, without ..")
	}
	v := fs.Volume
	if v == nil {
		return f
	}
	at = at.Child("volume")
	f.Merge(oneOf(at, variant{"pvc", v.PVC != nil}, variant{"nfs", v.NFS != nil}))
	if v.PVC != nil {
		f.Merge(name(at.Child("pvc", "name"), v.PVC.Name))
	}
	if v.NFS != nil {
		f.Merge(nfs(at.Child("nfs"), *v.NFS))
	}
	return f
}

func nfs(at *field.Path, v kopiurv1.NFSVolume) Findings {
	f := present(at.Child("server"), v.Server, "write the host name or address of the NFS server")
	if strings.Contains(v.Server, "/") {
		f.invalid(at.Child("server"), v.Server, "write the host alone, and the export into path")
	}
	if !strings.HasPrefix(v.Path, "/") {
		f.invalid(at.Child("path"), v.Path, "write the absolute path of the export")
	}
	return f
}

func sftp(at *field.Path, s kopiurv1.SFTPBackend, from secretsFrom) Findings {
	f := present(at.Child("host"), s.Host, "write the host name or address of the server")
	switch host := at.Child("host"); {
	case strings.Contains(s.Host, "@"):
		f.invalid(host, s.Host, "write the host alone, and what precedes the @ into username")
	case strings.ContainsAny(s.Host, "/ "):
		f.invalid(host, s.Host, "write the host alone, and the folder into path")
	case strings.Count(s.Host, ":") == 1:
		f.invalid(host, s.Host, "write the host alone, and the number into port")
	}
	f.Merge(present(at.Child("path"), s.Path, "write the folder of the repository on the server"))
	if s.Port < 0 || s.Port > 65535 {
		f.invalid(at.Child("port"), s.Port, "write a port up to 65535, or leave it out for 22")
	}
	f.Merge(secretAuth(at.Child("auth"), s.Auth, from))
	if s.Auth == nil || s.Auth.SecretRef == nil && s.Auth.WorkloadIdentity == nil {
		f.required(at.Child("auth", "secretRef"), "write the name of a Secret with the keys KOPIA_SFTP_KEY_DATA and KOPIA_SFTP_KNOWN_HOSTS")
	}
	return f
}

func webDAV(at *field.Path, w kopiurv1.WebDAVBackend, from secretsFrom) Findings {
	var f Findings
	at, path := at.Child("url"), at
	u, err := url.Parse(w.URL)
	switch {
	// An address with a password in it is never repeated, so what cannot be parsed is not shown either.
	case err != nil:
		f.forbidden(at, "it is no address: write https://host/path")
	case u.User != nil:
		f.forbidden(at, "an address holds no credentials: write them into a Secret with the keys KOPIA_WEBDAV_USERNAME and KOPIA_WEBDAV_PASSWORD, and its name into auth.secretRef")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		f.invalid(at, w.URL, "write https://host/path")
	case u.RawQuery != "" || u.Fragment != "":
		f.invalid(at, w.URL, "write the address without ? and #")
	case u.Scheme == "http":
		f.warn(at, "the password crosses the network in clear; use https:// where the server can")
	}
	f.Merge(secretAuth(path.Child("auth"), w.Auth, from))
	return f
}

// remotePath is what rclone takes: a remote of its configuration, or one made up on the spot after a colon.
var remotePath = regexp.MustCompile(`^:?[^:/]+:`)

func rclone(at *field.Path, r kopiurv1.RcloneBackend, from secretsFrom) Findings {
	var f Findings
	switch path := at.Child("remotePath"); {
	case r.RemotePath == "":
		f.required(path, "write remote:path, such as b2:bucket/kopia")
	case !remotePath.MatchString(r.RemotePath):
		f.invalid(path, r.RemotePath, "write remote:path, such as b2:bucket/kopia; for a folder of a volume there is backend.filesystem")
	case !strings.HasPrefix(r.RemotePath, ":") && r.ConfigSecretRef == nil:
		remote, _, _ := strings.Cut(r.RemotePath, ":")
		f.required(at.Child("configSecretRef"), "write the name of a Secret whose key KOPIA_RCLONE_CONFIG holds the rclone.conf with the remote %s", remote)
	}
	if ref := r.ConfigSecretRef; ref != nil {
		f.Merge(secretRef(at.Child("configSecretRef"), *ref, from))
	}
	f.Merge(duration(at.Child("startupTimeout"), r.StartupTimeout, time.Second))
	return f
}
