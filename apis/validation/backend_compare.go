// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// SameLocation reports whether two backends are one place: copying one into the other would read and write the same
// objects. Credentials do not matter. Places with two names, such as a host and its address, are not recognised.
func SameLocation(a, b kopiurv1.Backend) bool {
	switch {
	case a.S3 != nil && b.S3 != nil:
		return a.S3.Bucket == b.S3.Bucket && a.S3.Prefix == b.S3.Prefix && strings.EqualFold(s3Host(*a.S3), s3Host(*b.S3))
	case a.Azure != nil && b.Azure != nil:
		return a.Azure.Container == b.Azure.Container && a.Azure.Prefix == b.Azure.Prefix &&
			a.Azure.StorageAccount == b.Azure.StorageAccount && azureDomain(*a.Azure) == azureDomain(*b.Azure)
	case a.GCS != nil && b.GCS != nil:
		return a.GCS.Bucket == b.GCS.Bucket && a.GCS.Prefix == b.GCS.Prefix
	case a.B2 != nil && b.B2 != nil:
		return a.B2.Bucket == b.B2.Bucket && a.B2.Prefix == b.B2.Prefix
	case a.Filesystem != nil && b.Filesystem != nil:
		return sameFolder(*a.Filesystem, *b.Filesystem)
	case a.SFTP != nil && b.SFTP != nil:
		return strings.EqualFold(a.SFTP.Host, b.SFTP.Host) && sftpPort(*a.SFTP) == sftpPort(*b.SFTP) && path.Clean(a.SFTP.Path) == path.Clean(b.SFTP.Path)
	case a.WebDAV != nil && b.WebDAV != nil:
		return strings.TrimRight(a.WebDAV.URL, "/") == strings.TrimRight(b.WebDAV.URL, "/")
	case a.Rclone != nil && b.Rclone != nil:
		return strings.TrimRight(a.Rclone.RemotePath, "/") == strings.TrimRight(b.Rclone.RemotePath, "/")
	case a.GDrive != nil && b.GDrive != nil:
		return a.GDrive.FolderID == b.GDrive.FolderID
	default:
		return false
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

// sameFolder compares the volumes. The path is where the mover mounts a volume, so it tells folders apart only where it
// is the node's own.
func sameFolder(a, b kopiurv1.FilesystemBackend) bool {
	switch {
	case a.Volume == nil && b.Volume == nil:
		return path.Clean(a.Path) == path.Clean(b.Path)
	case a.Volume == nil || b.Volume == nil:
		return false
	case a.Volume.PVC != nil && b.Volume.PVC != nil:
		return a.Volume.PVC.Name == b.Volume.PVC.Name
	case a.Volume.NFS != nil && b.Volume.NFS != nil:
		return strings.EqualFold(a.Volume.NFS.Server, b.Volume.NFS.Server) && path.Clean(a.Volume.NFS.Path) == path.Clean(b.Volume.NFS.Path)
	default:
		return false
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
