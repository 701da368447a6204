// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPKIConnectsAServerAndItsUsers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ids, err := makePKI(folder, "node-1", []string{"127.0.0.1"})
	require.NoError(t, err)

	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ids.ca))
	serving, err := tls.LoadX509KeyPair(filepath.Join(folder, "apiserver.crt"), filepath.Join(folder, "apiserver.key"))
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/who" {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		name := r.TLS.PeerCertificates[0].Subject
		_ = json.NewEncoder(w).Encode(map[string]any{"user": name.CommonName, "groups": name.Organization})
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{serving}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
	server.StartTLS()
	defer server.Close()

	for user, want := range map[string]struct {
		User   string
		Groups []string
	}{
		"admin":   {"kopiur-admin", []string{"system:masters"}},
		"kubelet": {"system:node:node-1", []string{"system:nodes"}},
		"proxy":   {"system:kube-proxy", nil},
	} {
		client, err := newAPIClient(server.URL, ids.ca, ids.users[user])
		require.NoError(t, err)
		got := want
		got.User, got.Groups = "", nil
		ok, err := client.get(t.Context(), "/who", &got)
		require.NoError(t, err)
		require.True(t, ok, user)
		assert.Equal(t, want, got)

		ok, err = client.ready(t.Context())
		require.NoError(t, err)
		assert.False(t, ok, "a server that says not yet is not ready")
	}
}

func TestKubeletServingCertificateIsForTheStubToo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ids, err := makePKI(folder, controlPlaneNode, []string{"127.0.0.1"})
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ids.ca))
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "kubelet-serving.crt"), filepath.Join(folder, "kubelet-serving.key"))
	require.NoError(t, err)
	for _, name := range []string{"127.0.0.1", controlPlaneNode} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
		assert.NoError(t, err, name)
	}
}

func TestKeysAreForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := makePKI(folder, "n", nil)
	require.NoError(t, err)
	keys, err := filepath.Glob(filepath.Join(folder, "*.key"))
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		info, err := os.Stat(key)
		require.NoError(t, err)
		assert.EqualValues(t, 0o600, info.Mode().Perm(), key)
	}
}

func TestKubeconfigHoldsEverything(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeKubeconfig(file, "ctx", "https://127.0.0.1:1", []byte("ca"), keyPair{cert: []byte("crt"), key: []byte("key")}))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var config struct {
		CurrentContext string `json:"current-context"`
		Users          []struct {
			Name string
			User map[string][]byte
		}
	}
	require.NoError(t, json.Unmarshal(raw, &config))
	assert.Equal(t, "ctx", config.CurrentContext)
	require.Len(t, config.Users, 1)
	assert.Equal(t, map[string][]byte{"client-certificate-data": []byte("crt"), "client-key-data": []byte("key")}, config.Users[0].User)
}
