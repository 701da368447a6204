// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/b2"
)

// B2 is a bucket of Backblaze's, or the part of it below Prefix.
type B2 struct {
	Bucket string
	// Prefix goes to kopia byte for byte.
	Prefix string
	KeyID  string
	Key    string
}

func (b *B2) String() string { return "bucket " + below(b.Bucket, b.Prefix) + " at Backblaze" }

func (b *B2) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "b2", Config: &b2.Options{BucketName: b.Bucket, Prefix: b.Prefix, KeyID: b.KeyID, Key: b.Key}}
}

func (b *B2) probe(ctx context.Context) (location, error) {
	return probeObjects(ctx, Storage{B2: b})
}

func (b *B2) address() address { return address{store: "b2 " + b.Bucket, prefix: b.Prefix} }

func (b *B2) clockURL() string { return "https://api.backblazeb2.com/" }
