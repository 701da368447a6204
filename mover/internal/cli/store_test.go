// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// store is an S3 server with a certificate and an access key of its own. It refuses every other key.
type store struct {
	backend  work.Backend
	key, ca  string
	requests atomic.Int64
	strange  atomic.Int64
}

func newStore(t *testing.T, name string) *store {
	t.Helper()
	mem := s3mem.New()
	require.NoError(t, mem.CreateBucket("backups"))
	fake := gofakes3.New(mem).Server()
	s := &store{key: "AKIA" + strings.ToUpper(name)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+s.key+"/") {
			if r.Header.Get("Authorization") != "" { // the question for the store's clock has none
				s.strange.Add(1)
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<Error><Code>InvalidAccessKeyId</Code><Message>no</Message></Error>`))
			return
		}
		fake.ServeHTTP(w, r)
	}))
	cert := selfSigned(t, name)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	s.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
	s.backend = work.Backend{S3: &work.S3{
		Bucket: "backups", Prefix: name + "/", Endpoint: strings.TrimPrefix(srv.URL, "https://"), Region: "r", CAKey: work.DefaultCAKey,
	}}
	return s
}

// selfSigned makes a certificate that nobody else trusts; httptest's own is the same for every server.
func selfSigned(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secrets writes what the kubelet mounts for one side.
func (p *pod) secrets(root, password string, s *store) {
	p.write(filepath.Join(root, work.SecretsPassword), work.DefaultPasswordKey, password)
	if s == nil {
		return
	}
	auth := filepath.Join(root, work.SecretsAuth)
	p.write(auth, work.KeyAWSAccessKeyID, s.key)
	p.write(auth, work.KeyAWSSecretAccessKey, "secret-of-"+s.key)
	p.write(filepath.Join(root, work.SecretsCA), work.DefaultCAKey, s.ca)
}

// one gives the operations with a single repository the Secrets of a store.
func (p *pod) one(s *store) {
	p.write(p.auth, work.KeyAWSAccessKeyID, s.key)
	p.write(p.auth, work.KeyAWSSecretAccessKey, "secret-of-"+s.key)
	p.write(p.ca, work.DefaultCAKey, s.ca)
}

// at is the repository in another place.
func (p *pod) at(b work.Backend) work.Repository {
	r := p.repository()
	r.Backend = b
	return r
}

func onFolder(path string) work.Backend {
	return work.Backend{Filesystem: &work.Filesystem{Path: path}}
}
