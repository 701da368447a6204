// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"golang.org/x/sys/unix"
)

// ErrBadCA is a CA bundle that holds no certificate.
var ErrBadCA = errors.New("the CA bundle holds no PEM certificate")

// probeTimeout bounds the question whether a store answers at all. It is short on purpose: a store that does not answer
// a listing of one key in this time is down, while an open that takes longer is merely slow (C-3).
const probeTimeout = 30 * time.Second

// probeRetries is how often the S3 client repeats a request by itself. Kopia repeats ten times with pauses of up to 32 s
// and then only knows that its context ended; the probe wants the store's own answer.
const probeRetries = 2

// location is what a probe found.
type location struct {
	initialized bool
	// found names one thing that is there although no repository is.
	found string
	// begun: there is what kopia writes before it writes the repository, and nothing else. Whoever did was killed.
	begun bool
	// copying: a copy into this place has begun and has not ended.
	copying bool
}

// probe asks the storage what it holds, once and without kopia's retries, so that the answer is typed and quick.
func (s Storage) probe(ctx context.Context, readOnly bool) (location, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var (
		loc location
		err error
	)
	switch {
	case s.Filesystem != nil:
		loc, err = s.probeFolder(ctx, readOnly)
	case s.S3 != nil:
		loc, err = s.S3.probe(ctx)
	default:
		r := s.remote()
		if r == nil {
			return location{}, errors.New("probe storage: no backend is set")
		}
		loc, err = r.probe(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return location{}, fmt.Errorf("look into the %s: %w", s, err)
	}
	return loc, nil
}

func (s Storage) probeFolder(ctx context.Context, readOnly bool) (location, error) {
	path := s.Filesystem.Path
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return location{}, fmt.Errorf("%w: %w", ErrLocationMissing, err)
	}
	if err != nil {
		return location{}, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	if !st.IsDir() {
		return location{}, fmt.Errorf("%w: it is a file", ErrOccupied)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return location{}, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	if !readOnly {
		// Without this a folder that cannot be written is found only after ten retries inside kopia.
		if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
			return location{}, fmt.Errorf("%w: %w", ErrStorage, &fs.PathError{Op: "write to", Path: path, Err: err})
		}
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return s.folder(ctx, names)
}

func (s S3) probe(ctx context.Context) (location, error) {
	cli, err := s.client()
	if err != nil {
		return location{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing, which runs in a goroutine of the client
	var loc location
	// The listing comes first: its answer has a body, so a missing bucket is told apart from a missing key.
	keys := cli.ListObjects(ctx, s.Bucket, minio.ListObjectsOptions{Prefix: s.Prefix, Recursive: true, MaxKeys: 1})
	first := <-keys
	if first.Err != nil {
		return location{}, s3Error(first.Err)
	}
	if first.Key == "" {
		return loc, nil
	}
	if loc.initialized, err = s.has(ctx, cli, format.KopiaRepositoryBlobID); err != nil || loc.initialized {
		return loc, err
	}
	if loc.copying, err = s.has(ctx, cli, copyMarkerID); err != nil {
		return location{}, err
	}
	// Of what may be there without meaning anything there are two keys; the third at the latest tells.
	for o := first; loc.found == "" && (o.Key != "" || o.Err != nil); o = <-keys {
		switch {
		case o.Err != nil:
			return location{}, s3Error(o.Err)
		case o.Key == s.Prefix+format.KopiaBlobCfgBlobID:
			loc.begun = true
		case o.Key != s.Prefix+string(copyMarkerID):
			loc.found = o.Key
		}
	}
	loc.begun = loc.begun && loc.found == ""
	return loc, nil
}

func (s S3) has(ctx context.Context, cli *minio.Client, id blob.ID) (bool, error) {
	_, err := cli.StatObject(ctx, s.Bucket, s.Prefix+string(id), minio.StatObjectOptions{})
	var answer minio.ErrorResponse
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &answer) && answer.Code == minio.NoSuchKey:
		return false, nil
	default:
		return false, s3Error(err)
	}
}

func s3Error(err error) error {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.Code == minio.NoSuchBucket {
		return fmt.Errorf("%w: %w", ErrLocationMissing, err)
	}
	return fmt.Errorf("%w: %w", ErrStorage, err)
}

func (s S3) client() (*minio.Client, error) {
	if err := s3utils.CheckValidBucketName(s.Bucket); err != nil {
		return nil, fmt.Errorf("%w: bucket %q: %w", ErrInvalidOption, s.Bucket, err)
	}
	t, err := s.transport()
	if err != nil {
		return nil, err
	}
	// The same chain as kopia's: keys first, then what the cloud projected.
	chain := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.Static{Value: credentials.Value{
			AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey, SessionToken: s.SessionToken,
			SignerType: credentials.SignatureV4,
		}},
		&credentials.EnvAWS{},
		&credentials.IAM{},
	})
	cli, err := minio.New(s.endpoint(), &minio.Options{
		Creds: chain, Secure: !s.DisableTLS, Region: s.Region, Transport: t, MaxRetries: probeRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: endpoint %q: %w", ErrInvalidOption, s.Endpoint, err)
	}
	return cli, nil
}

func tlsConfig(rootCA []byte, skipVerify bool) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case skipVerify:
		conf.InsecureSkipVerify = true
	case len(rootCA) > 0:
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(rootCA) {
			return nil, ErrBadCA
		}
		conf.RootCAs = pool
	}
	return conf, nil
}
