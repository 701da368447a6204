// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// backendOf is where a repository is stored, as its mover is told. A backend without a Secret leaves the credentials to
// what the cloud gives the pod, or needs none.
func backendOf(b kopiurv1.Backend) work.Backend {
	ambient := b.SecretName() == ""
	var out work.Backend
	switch {
	case b.Filesystem != nil:
		out.Filesystem = &work.Filesystem{Path: b.Filesystem.Path}
	case b.S3 != nil:
		out.S3 = s3(*b.S3, ambient)
	case b.Azure != nil:
		a := b.Azure
		out.Azure = &work.Azure{
			Container: a.Container, Prefix: a.Prefix, StorageAccount: a.StorageAccount, StorageDomain: a.StorageDomain,
			AmbientCredentials: ambient,
		}
	case b.GCS != nil:
		out.GCS = &work.GCS{Bucket: b.GCS.Bucket, Prefix: b.GCS.Prefix, AmbientCredentials: ambient}
	case b.B2 != nil:
		out.B2 = &work.B2{Bucket: b.B2.Bucket, Prefix: b.B2.Prefix}
	case b.SFTP != nil:
		s := b.SFTP
		out.SFTP = &work.SFTP{Host: s.Host, Port: s.Port, Path: s.Path, Username: s.Username}
	case b.WebDAV != nil:
		out.WebDAV = &work.WebDAV{URL: b.WebDAV.URL, AmbientCredentials: ambient}
	case b.Rclone != nil:
		out.Rclone = &work.Rclone{RemotePath: b.Rclone.RemotePath, AmbientCredentials: ambient, StartupTimeoutSeconds: startupSeconds(b.Rclone.StartupTimeout)}
	case b.GDrive != nil:
		out.GDrive = &work.GDrive{FolderID: b.GDrive.FolderID, AmbientCredentials: ambient}
	}
	return out
}

func s3(b kopiurv1.S3Backend, ambient bool) *work.S3 {
	s := &work.S3{Bucket: b.Bucket, Prefix: b.Prefix, Endpoint: b.Host(), Region: b.Region, AmbientCredentials: ambient}
	if t := b.TLS; t != nil {
		s.DisableTLS, s.InsecureSkipVerify = t.DisableTLS, t.InsecureSkipVerify
		if ca := t.CABundleRef; ca != nil {
			if s.CAKey = ca.Key; s.CAKey == "" {
				s.CAKey = work.DefaultCAKey
			}
		}
	}
	return s
}

// startupSeconds rounds up: a part of a second is not no time at all. Zero leaves it to kopia; what cannot be parsed was
// refused before.
func startupSeconds(d kopiurv1.Duration) int64 {
	v, err := d.Parse(0)
	if err != nil {
		return 0
	}
	return int64((v + time.Second - 1) / time.Second)
}

// Labels that clouds look for on the pods of a workload identity.
const (
	azureIdentityLabel = "azure.workload.identity/use"
	azureIdentityValue = "true"
)

// identityLabels are what makes the cloud give the pod its credentials.
func identityLabels(b kopiurv1.Backend) map[string]string {
	if b.Azure != nil && b.ServiceAccount() != "" {
		return map[string]string{azureIdentityLabel: azureIdentityValue}
	}
	return nil
}

// rcloneSuffix stands at the end of the tag of the mover's image that carries rclone.
const rcloneSuffix = "-rclone"

// Images are those of the movers. The one with rclone is four times as large as the other, so only those who use it get
// it.
type Images struct {
	Mover string
	// Rclone is Mover with another tag where it is left out.
	Rclone string
	// Stream holds the helper that runs commands for streams.
	Stream string
}

// of is the image for some backends. Behind a digest there is no other tag to be found.
func (i Images) of(backends ...kopiurv1.Backend) (string, error) {
	switch {
	case !slices.ContainsFunc(backends, func(b kopiurv1.Backend) bool { return b.Rclone != nil }):
		return i.Mover, nil
	case i.Rclone != "":
		return i.Rclone, nil
	case strings.Contains(i.Mover, "@"):
		return "", fmt.Errorf("the backend rclone needs the mover's image with rclone in it, and %s has no tag to find that by; name it (Helm: mover.rcloneImage)", i.Mover)
	case !strings.Contains(i.Mover[strings.LastIndexByte(i.Mover, '/')+1:], ":"):
		return i.Mover + ":latest" + rcloneSuffix, nil
	default:
		return i.Mover + rcloneSuffix, nil
	}
}
