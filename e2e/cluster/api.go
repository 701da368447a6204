// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// apiClient asks the API server the few things the harness must know. A Kubernetes client would cost the harness more
// than the rest of it together.
type apiClient struct {
	server string
	http   *http.Client
}

func newAPIClient(server string, ca []byte, user keyPair) (*apiClient, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("the cluster's CA is no certificate")
	}
	pair, err := tls.X509KeyPair(user.cert, user.key)
	if err != nil {
		return nil, err
	}
	return &apiClient{server: server, http: &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		}},
	}}, nil
}

// get decodes an answer into out, if that is given. ok is false for every answer that may yet become better: no
// connection, an error of the server, an object that is not there.
func (a *apiClient) get(ctx context.Context, path string, out any) (ok bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return false, err
	}
	answer, err := a.http.Do(request)
	if err != nil {
		return false, nil // it may not listen yet
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return false, nil // it may be about to start or to stop
	}
	if out == nil {
		return true, nil
	}
	return true, json.Unmarshal(body, out)
}

func (a *apiClient) ready(ctx context.Context) (bool, error) { return a.get(ctx, "/readyz", nil) }

// close drops idle connections, which would otherwise hold the relay's ends open.
func (a *apiClient) close() { a.http.CloseIdleConnections() }
