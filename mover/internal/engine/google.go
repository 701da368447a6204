// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/gcs"
	"github.com/kopia/kopia/repo/blob/gdrive"
)

// GCS is a bucket of Google's, or the part of it below Prefix.
type GCS struct {
	Bucket string
	// Prefix goes to kopia byte for byte.
	Prefix string
	// Credentials is the JSON of a service account; empty leaves it to what the cloud gave the pod.
	Credentials string
}

func (g *GCS) String() string { return "bucket " + below(g.Bucket, g.Prefix) + " at Google" }

func (g *GCS) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "gcs", Config: &gcs.Options{
		BucketName: g.Bucket, Prefix: g.Prefix, ServiceAccountCredentialJSON: json.RawMessage(g.Credentials),
	}}
}

func (g *GCS) probe(ctx context.Context) (location, error) {
	return probeObjects(ctx, Storage{GCS: g})
}

func (g *GCS) address() address { return address{store: "gcs " + g.Bucket, prefix: g.Prefix} }

func (g *GCS) clockURL() string { return "https://storage.googleapis.com/" + g.Bucket + "/" }

// GDrive is a folder of Google Drive.
type GDrive struct {
	FolderID string
	// Credentials is the JSON of a service account; empty leaves it to what the cloud gave the pod.
	Credentials string
}

func (g *GDrive) String() string { return "folder " + g.FolderID + " of Google Drive" }

func (g *GDrive) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "gdrive", Config: &gdrive.Options{
		FolderID: g.FolderID, ServiceAccountCredentialJSON: json.RawMessage(g.Credentials),
	}}
}

func (g *GDrive) probe(ctx context.Context) (location, error) {
	return probeObjects(ctx, Storage{GDrive: g})
}

func (g *GDrive) address() address { return address{store: "gdrive " + g.FolderID} }

func (g *GDrive) clockURL() string { return "https://www.googleapis.com/" }
