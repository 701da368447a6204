// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// SameLocation reports whether two backends are one place: copying one into the other would read and write the same
// objects. Credentials do not matter. Places with two names, such as a host and its address, are not recognised.
func SameLocation(a, b kopiurv1.Backend) bool {
	l := Location(a)
	return l != "" && l == Location(b)
}

// Location is the place of a backend as a text that is the same for each that is there, "" where it names none.
func Location(b kopiurv1.Backend) string {
	at := func(parts ...string) string { return b.Name() + "\x00" + strings.Join(parts, "\x00") }
	switch {
	case b.S3 != nil:
		return at(b.S3.Bucket, b.S3.Prefix, strings.ToLower(s3Host(*b.S3)))
	case b.Azure != nil:
		return at(b.Azure.Container, b.Azure.Prefix, b.Azure.StorageAccount, azureDomain(*b.Azure))
	case b.GCS != nil:
		return at(b.GCS.Bucket, b.GCS.Prefix)
	case b.B2 != nil:
		return at(b.B2.Bucket, b.B2.Prefix)
	case b.Filesystem != nil:
		if f := folder(*b.Filesystem); f != "" {
			return at(f)
		}
		return ""
	case b.SFTP != nil:
		return at(strings.ToLower(b.SFTP.Host), strconv.Itoa(int(sftpPort(*b.SFTP))), path.Clean(b.SFTP.Path))
	case b.WebDAV != nil:
		return at(strings.TrimRight(b.WebDAV.URL, "/"))
	case b.Rclone != nil:
		return at(strings.TrimRight(b.Rclone.RemotePath, "/"))
	case b.GDrive != nil:
		return at(b.GDrive.FolderID)
	default:
		return ""
	}
}

func s3Host(s kopiurv1.S3Backend) string {
	if h := s.Host(); h != "" {
		return strings.TrimSuffix(h, ":443")
	}
	return "s3.amazonaws.com"
}

func azureDomain(a kopiurv1.AzureBackend) string {
	if a.StorageDomain != "" {
		return a.StorageDomain
	}
	return "blob.core.windows.net"
}

func sftpPort(s kopiurv1.SFTPBackend) int32 {
	if s.Port != 0 {
		return s.Port
	}
	return 22
}

// folder is the volume. The path is where the mover mounts a volume, so it tells folders apart only where it is the node's
// own.
func folder(f kopiurv1.FilesystemBackend) string {
	switch v := f.Volume; {
	case v == nil:
		return "path " + path.Clean(f.Path)
	case v.PVC != nil:
		return "claim " + v.PVC.Name
	case v.NFS != nil:
		return "nfs " + strings.ToLower(v.NFS.Server) + " " + path.Clean(v.NFS.Path)
	default:
		return ""
	}
}

// MixedAuth checks two backends that one pod works with. In a cloud's kit of credentials static keys win over the
// identity of the pod, so that the keys of one side would be used for the other; and a pod has one ServiceAccount.
func MixedAuth(at *field.Path, a, b kopiurv1.Backend) Findings {
	var f Findings
	one, other := a.Auth(), b.Auth()
	if one == nil || other == nil {
		return f
	}
	if a.Name() == b.Name() && (one.SecretRef != nil && other.WorkloadIdentity != nil || one.WorkloadIdentity != nil && other.SecretRef != nil) {
		f.forbidden(at, "one pod works with both sides, and the keys of one would be used for the other: use secretRef on both, or workloadIdentity on both")
	}
	if x, y := a.ServiceAccount(), b.ServiceAccount(); x != "" && y != "" && x != y {
		f.forbidden(at, "one pod works with both sides, and it has one ServiceAccount: name the same one in both, not %s and %s", x, y)
	}
	return f
}
