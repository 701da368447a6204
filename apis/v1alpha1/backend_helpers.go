// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// Name is the union's discriminant as status.backend shows it: the key below spec.backend, "" where there is none.
func (b Backend) Name() string {
	switch {
	case b.S3 != nil:
		return "s3"
	case b.Azure != nil:
		return "azure"
	case b.GCS != nil:
		return "gcs"
	case b.B2 != nil:
		return "b2"
	case b.Filesystem != nil:
		return "filesystem"
	case b.SFTP != nil:
		return "sftp"
	case b.WebDAV != nil:
		return "webDav"
	case b.Rclone != nil:
		return "rclone"
	case b.GDrive != nil:
		return "gdrive"
	default:
		return ""
	}
}

// Auth is the backend's auth block, nil where it has none. rclone and gdrive keep their credentials elsewhere: see
// SecretRef.
func (b Backend) Auth() *BackendAuth {
	switch {
	case b.S3 != nil:
		return b.S3.Auth
	case b.Azure != nil:
		return b.Azure.Auth
	case b.GCS != nil:
		return b.GCS.Auth
	case b.B2 != nil:
		return b.B2.Auth
	case b.SFTP != nil:
		return b.SFTP.Auth
	case b.WebDAV != nil:
		return b.WebDAV.Auth
	default:
		return nil
	}
}

// SecretRef is the backend's credential Secret, nil where it has none.
func (b Backend) SecretRef() *SecretRef {
	switch a := b.Auth(); {
	case a != nil:
		return a.SecretRef
	case b.Rclone != nil:
		return b.Rclone.ConfigSecretRef
	case b.GDrive != nil:
		return b.GDrive.CredentialsSecretRef
	default:
		return nil
	}
}

// SecretName is the name of the backend's credential Secret, "" where it has none.
func (b Backend) SecretName() string {
	if ref := b.SecretRef(); ref != nil {
		return ref.Name
	}
	return ""
}

// CAConfigMap is the backend's CA bundle, nil where it has none.
func (b Backend) CAConfigMap() *CABundleRef {
	if b.S3 != nil && b.S3.TLS != nil {
		return b.S3.TLS.CABundleRef
	}
	return nil
}

// ServiceAccount is the workload identity's account, "" where there is none.
func (b Backend) ServiceAccount() string {
	if a := b.Auth(); a != nil && a.WorkloadIdentity != nil {
		return a.WorkloadIdentity.ServiceAccountName
	}
	return ""
}

// Host is the endpoint as kopia takes it, host or host:port. People write a scheme in front of it; tls.disableTls
// decides what is spoken, so the scheme is dropped here and nowhere else.
func (s S3Backend) Host() string {
	host := strings.TrimPrefix(s.Endpoint, "https://")
	return strings.TrimPrefix(host, "http://")
}
