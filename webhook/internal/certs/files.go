// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// reread is how often files are looked at. The kubelet takes about a minute to bring a changed Secret into a pod.
const reread = 10 * time.Second

// Files serves the certificate that cert-manager, or a person, put into a folder.
type Files struct {
	dir    string
	clock  clock.WithTicker
	log    logr.Logger
	served atomic.Pointer[tls.Certificate]
	fault  atomic.Pointer[error]
}

// NewFiles makes a source that reads tls.crt and tls.key of a folder.
func NewFiles(dir string, clk clock.WithTicker, log logr.Logger) *Files {
	return &Files{dir: dir, clock: clk, log: log}
}

// GetCertificate is what TLS asks.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c := f.served.Load()
	if c == nil {
		return nil, errNoCertificate
	}
	return c, nil
}

// Missing is empty, or says why there is nothing to serve with.
func (f *Files) Missing() string {
	if f.served.Load() != nil {
		return ""
	}
	if err := f.fault.Load(); err != nil {
		return "certificate: " + (*err).Error()
	}
	return "certificate: not read yet"
}

// Run reads the files again and again until the context ends. Files that cannot be used change nothing: of a pair that is
// being replaced one may be new and the other old.
func (f *Files) Run(ctx context.Context) {
	tick := f.clock.NewTicker(reread)
	defer tick.Stop()
	for {
		err := f.read()
		if last := f.fault.Load(); err != nil && (last == nil || (*last).Error() != err.Error()) {
			f.log.Error(err, "Reading the certificate", "folder", f.dir)
		}
		f.fault.Store(nil)
		if err != nil {
			f.fault.Store(&err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
	}
}

func (f *Files) read() error {
	cert, err := os.ReadFile(filepath.Join(f.dir, keyCert))
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(f.dir, keyKey))
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	fresh, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	if old := f.served.Load(); old == nil || !old.Leaf.Equal(fresh.Leaf) {
		f.served.Store(&fresh)
		notAfter.Set(float64(fresh.Leaf.NotAfter.Unix()))
		f.log.Info("Serving with the certificate of the folder", "folder", f.dir, "notAfter", fresh.Leaf.NotAfter)
	}
	return nil
}
