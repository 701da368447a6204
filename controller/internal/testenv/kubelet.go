// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/controller/internal/podexec/wire"
)

// kubelet is a Node whose talents are to serve logs, and to pretend that it runs a command.
type kubelet struct {
	name   string
	client client.Client
	http   *http.Server

	mu       sync.Mutex
	logs     map[string][]byte
	commands map[string]wire.Command
}

// startKubelet serves on the loopback and registers a Node that leads there.
func startKubelet(cfg *rest.Config) (*kubelet, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client for the stub kubelet: %w", err)
	}
	cert, err := servingCertificate()
	if err != nil {
		return nil, fmt.Errorf("find the stub kubelet's certificate: %w", err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, fmt.Errorf("listen for the stub kubelet: %w", err)
	}
	k := &kubelet{name: "stub-" + random(), client: c, logs: map[string][]byte{}, commands: map[string]wire.Command{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.serveExec)
	k.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := k.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "API tests: stub kubelet:", err)
		}
	}()

	port, _ := listener.Addr().(*net.TCPAddr)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.name}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.Create(ctx, node); err != nil {
		return nil, fmt.Errorf("register the stub node: %w", err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port.Port) //nolint:gosec // a port
	if err := c.Status().Update(ctx, node); err != nil {
		return nil, fmt.Errorf("register the stub node: %w", err)
	}
	return k, nil
}

func (k *kubelet) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = k.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.name}})
	_ = k.http.Close()
}

// setLog is what a container printed.
func (k *kubelet) setLog(namespace, pod string, log []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[namespace+"/"+pod] = log
}

func (k *kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	log, ok := k.logs[r.PathValue("namespace")+"/"+r.PathValue("pod")]
	k.mu.Unlock()
	if !ok {
		http.Error(w, "the container has printed nothing", http.StatusNotFound)
		return
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("limitBytes")); err == nil && n < len(log) {
		log = log[:n]
	}
	_, _ = w.Write(log)
}

// setCommand is what every command in a pod does.
func (k *kubelet) setCommand(namespace, pod string, c wire.Command) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.commands[namespace+"/"+pod] = c
}

func (k *kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	c, ok := k.commands[r.PathValue("namespace")+"/"+r.PathValue("pod")]
	k.mu.Unlock()
	if !ok {
		http.Error(w, "nothing can be run there", http.StatusNotFound)
		return
	}
	if err := wire.Serve(w, r, c); err != nil {
		fmt.Fprintln(os.Stderr, "API tests: stub kubelet:", err)
	}
}

// servingCertificate is one that the API server trusts: issued by the control plane's CA where there is one; envtest's
// API server trusts any.
func servingCertificate() (tls.Certificate, error) {
	if dir := os.Getenv(EnvPKI); dir != "" {
		return tls.LoadX509KeyPair(filepath.Join(dir, "kubelet-serving.crt"), filepath.Join(dir, "kubelet-serving.key"))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), //nolint:forbidigo // a certificate is valid by the wall clock
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func random() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
