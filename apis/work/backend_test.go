// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"testing"

	"github.com/kopiur/kopiur/apis/work"
)

// Every backend, with all of its fields.
func TestBackendGolden(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]work.Backend{
		"azure":   {Azure: &work.Azure{Container: "backups", Prefix: "apps/", StorageAccount: "acme", StorageDomain: "blob.core.usgovcloudapi.net"}},
		"gcs":     {GCS: &work.GCS{Bucket: "backups", Prefix: "apps/", AmbientCredentials: true}},
		"b2":      {B2: &work.B2{Bucket: "backups", Prefix: "apps/"}},
		"sftp":    {SFTP: &work.SFTP{Host: "nas.example.org", Port: 2222, Path: "/backups", Username: "kopia"}},
		"web-dav": {WebDAV: &work.WebDAV{URL: "https://nas.example.org/backups", AmbientCredentials: true}},
		"rclone":  {Rclone: &work.Rclone{RemotePath: "nas:backups", StartupTimeoutSeconds: 60}},
		"gdrive":  {GDrive: &work.GDrive{FolderID: "1aBcD", AmbientCredentials: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := repository()
			r.Backend = b
			specGolden(t, "backend-"+name, work.Spec{RequestID: "u-1", Repository: r, Operation: work.Operation{Bootstrap: &work.Bootstrap{}}})
		})
	}
}
