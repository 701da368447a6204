// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testBucket = "backups"

// s3Server is a real S3 server in this process. wrap may stand before it.
func s3Server(tb testing.TB, secure bool, wrap func(http.Handler) http.Handler) (S3, *httptest.Server) {
	tb.Helper()
	mem := s3mem.New()
	require.NoError(tb, mem.CreateBucket(testBucket))
	h := gofakes3.New(mem).Server()
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = nil
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	tb.Cleanup(srv.Close)
	_, address, _ := strings.Cut(srv.URL, "://")
	return S3{
		Bucket: testBucket, Prefix: "apps/", Endpoint: address, Region: "us-east-1", DisableTLS: !secure,
		AccessKeyID: "access-key", SecretAccessKey: "secret-key",
	}, srv
}

func TestS3RoundTrip(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s, _ := s3Server(t, false, nil)
	c, r := created(t, Storage{S3: &s})
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a/b"), "content", 0o644)
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a/b"}, stored(t, r, up.Snapshot))

	c.ExpectedUniqueID, c.WorkDir = r.UniqueID(), t.TempDir()
	again, err := Open(ctx, c)
	require.NoError(t, err)
	require.NoError(t, again.Close(ctx))
}

func TestS3PrefixIsTakenByteForByte(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var keys atomic.Pointer[string]
	s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				keys.Store(&r.URL.Path)
			}
			h.ServeHTTP(w, r)
		})
	})
	s.Prefix = "apps"
	_, r := created(t, Storage{S3: &s})
	require.NotNil(t, keys.Load())
	assert.True(t, strings.HasPrefix(*keys.Load(), "/"+testBucket+"/apps"), *keys.Load())
	assert.False(t, strings.HasPrefix(*keys.Load(), "/"+testBucket+"/apps/"), *keys.Load())
	s.Prefix = "app"
	_, err := Open(ctx, connection(t, Storage{S3: &s}))
	require.ErrorIs(t, err, ErrOccupied, "under a shorter prefix the same keys mean nothing")
	require.NotNil(t, r)
}

func TestS3TellsApart(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code string) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>` + code + `</Code><Message>no</Message></Error>`))
			})
		}
	}
	for name, tc := range map[string]struct {
		wrap   func(http.Handler) http.Handler
		secure bool
		change func(*S3)
		check  func(*testing.T, error)
	}{
		"an empty bucket": {check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrNotInitialized)
		}},
		"no such bucket": {change: func(s *S3) { s.Bucket = "missing" }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrLocationMissing)
		}},
		"refused credentials": {wrap: refuse(http.StatusForbidden, "SignatureDoesNotMatch"), check: func(t *testing.T, err error) {
			t.Helper()
			var answer minio.ErrorResponse
			require.ErrorAs(t, err, &answer)
			assert.Equal(t, http.StatusForbidden, answer.StatusCode)
		}},
		"an error of the store's own": {wrap: refuse(http.StatusInternalServerError, "InternalError"), check: func(t *testing.T, err error) {
			t.Helper()
			var answer minio.ErrorResponse
			require.ErrorAs(t, err, &answer)
			assert.Equal(t, http.StatusInternalServerError, answer.StatusCode)
		}},
		"nobody listens": {change: func(s *S3) { s.Endpoint = "127.0.0.1:1" }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrStorage)
			require.ErrorContains(t, err, "connection refused")
		}},
		"a certificate of an unknown authority": {secure: true, check: func(t *testing.T, err error) {
			t.Helper()
			var unknown x509.UnknownAuthorityError
			require.ErrorAs(t, err, &unknown)
		}},
		"a CA bundle without a certificate": {secure: true, change: func(s *S3) { s.RootCA = []byte("hello") }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrBadCA)
		}},
		"an impossible bucket name": {change: func(s *S3) { s.Bucket = "No Bucket" }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrInvalidOption)
		}},
		"an endpoint that is a URL": {change: func(s *S3) { s.Endpoint = "https://" + s.Endpoint + "/path" }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrInvalidOption)
		}},
		"TLS on a port without it": {change: func(s *S3) { s.DisableTLS = false }, check: func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrStorage)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := s3Server(t, tc.secure, tc.wrap)
			if tc.change != nil {
				tc.change(&s)
			}
			_, err := Open(testContext(t), connection(t, Storage{S3: &s}))
			require.Error(t, err)
			tc.check(t, err)
			assert.NotContains(t, err.Error(), "secret-key")
		})
	}
}

// C-13: the CA bundle reaches the probe and every request of kopia, in every operation.
func TestS3CustomCA(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var token atomic.Int64
	s, srv := s3Server(t, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Security-Token") == "session-token" {
				token.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	s.RootCA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	s.SessionToken = "session-token"
	_, r := created(t, Storage{S3: &s})
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "content", 0o644)
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, stored(t, r, up.Snapshot))
	_, err = r.Stats(ctx)
	require.NoError(t, err)
	assert.Positive(t, token.Load(), "the session token is sent")

	s.RootCA, s.SkipVerify = nil, true
	skip, err := Open(ctx, connection(t, Storage{S3: &s}))
	require.NoError(t, err)
	require.NoError(t, skip.Close(ctx))
}

func TestS3OccupiedBucketIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var writes atomic.Int64
	s, srv := s3Server(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut || r.Method == http.MethodPost {
				writes.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	s.Prefix = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, srv.URL+"/"+testBucket+"/photos/cat.jpg", strings.NewReader("meow"))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	before := writes.Load()
	err = Create(ctx, connection(t, Storage{S3: &s}), CreateOptions{})
	require.ErrorIs(t, err, ErrOccupied)
	require.ErrorContains(t, err, "photos/cat.jpg", "it says what is there")
	assert.Equal(t, before, writes.Load(), "nothing was written")
}
