// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/kopia/kopia/repo/blob/s3"
)

// Modes of a filesystem repository: many movers with different uids share it through one group.
const (
	repositoryFileMode = 0o660
	repositoryDirMode  = os.ModeSetgid | 0o770
)

// DefaultS3Endpoint is used where a backend names none.
const DefaultS3Endpoint = "s3.amazonaws.com"

// Storage is where a repository lives: exactly one of its fields is set.
type Storage struct {
	Filesystem *Filesystem
	S3         *S3
	Azure      *Azure
	GCS        *GCS
	B2         *B2
	SFTP       *SFTP
	WebDAV     *WebDAV
	Rclone     *Rclone
	GDrive     *GDrive

	// instead is what tests connect to in the place of a folder: the same one, behind something that fails.
	instead *blob.ConnectionInfo
}

// Filesystem is a folder.
type Filesystem struct {
	Path string
}

// S3 is a bucket, or the part of it below Prefix.
type S3 struct {
	Bucket string
	// Prefix goes to kopia byte for byte: existing repositories have prefixes with and without a final slash.
	Prefix   string
	Endpoint string
	Region   string

	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string

	DisableTLS bool
	SkipVerify bool
	RootCA     []byte
}

// connectionInfo is the storage as kopia writes it into a connection file.
func (s Storage) connectionInfo() (blob.ConnectionInfo, error) {
	switch {
	case s.instead != nil:
		return *s.instead, nil
	case s.Filesystem != nil:
		return blob.ConnectionInfo{Type: "filesystem", Config: &filesystem.Options{
			Path: s.Filesystem.Path, FileMode: repositoryFileMode, DirectoryMode: repositoryDirMode,
		}}, nil
	case s.S3 != nil:
		return blob.ConnectionInfo{Type: "s3", Config: &s3.Options{
			BucketName: s.S3.Bucket, Prefix: s.S3.Prefix, Endpoint: s.S3.endpoint(), Region: s.S3.Region,
			AccessKeyID: s.S3.AccessKeyID, SecretAccessKey: s.S3.SecretAccessKey, SessionToken: s.S3.SessionToken,
			DoNotUseTLS: s.S3.DisableTLS, DoNotVerifyTLS: s.S3.SkipVerify, RootCA: s.S3.RootCA,
		}}, nil
	}
	r := s.remote()
	if r == nil {
		return blob.ConnectionInfo{}, errors.New("describe storage: no backend is set")
	}
	return promptly(r.connectionInfo()), nil
}

func (s S3) endpoint() string {
	if s.Endpoint == "" {
		return DefaultS3Endpoint
	}
	return s.Endpoint
}

// open opens the storage itself, below any repository. Creating the folder of a filesystem repository is not left to
// kopia: a path that is not mounted must be an error, not an empty folder in the container.
func (s Storage) open(ctx context.Context) (blob.Storage, error) {
	ci, err := s.connectionInfo()
	if err != nil {
		return nil, err
	}
	st, err := blob.NewStorage(ctx, ci, false)
	if err != nil {
		return nil, fmt.Errorf("open: %w", answered(err))
	}
	return st, nil
}

// prepare lets the folders of a new filesystem repository inherit its group: mkdir(2) ignores the set-group-id bit of
// its mode, so only the root can hand it on. With an fsGroup the kubelet has done it; where the folder is not ours it
// stays as it is.
func (s Storage) prepare() {
	if s.Filesystem == nil {
		return
	}
	if st, err := os.Stat(s.Filesystem.Path); err == nil && st.Mode()&os.ModeSetgid == 0 {
		_ = os.Chmod(s.Filesystem.Path, st.Mode()|os.ModeSetgid)
	}
}

// String names the storage for messages; it holds nothing secret.
func (s Storage) String() string {
	switch {
	case s.Filesystem != nil:
		return "folder " + s.Filesystem.Path
	case s.S3 != nil:
		name := "bucket " + s.S3.Bucket
		if s.S3.Prefix != "" {
			name += " below " + s.S3.Prefix
		}
		return name + " at " + s.S3.endpoint()
	}
	if r := s.remote(); r != nil {
		return r.String()
	}
	return "no storage"
}

// transport is a copy of the default HTTP transport with the TLS settings of the backend, for the probe.
func (s S3) transport() (*http.Transport, error) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("prepare transport: the default transport is not an http.Transport")
	}
	t := base.Clone()
	conf, err := tlsConfig(s.RootCA, s.SkipVerify)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig = conf
	return t, nil
}
