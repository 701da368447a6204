// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build servers

package backends_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// internet is what the clients of the clouds find under the names that they ask for. They are not told of any test: a
// proxy is in the environment, as in many companies, and an authority that they trust. Nothing leaves this machine.
var internet = newCloud()

// scratch is a folder for what outlives a single test.
var scratch string

func TestMain(m *testing.M) {
	syscall.Umask(0o007)
	dir, err := os.MkdirTemp("", "backends")
	if err != nil {
		panic(err)
	}
	scratch = dir
	// Both are looked at once, before the first request.
	file := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(file, internet.authority.pem, 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"SSL_CERT_FILE": file, "SSL_CERT_DIR": dir, "HTTPS_PROXY": "http://" + internet.listen(), "NO_PROXY": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	for _, end := range []func(){google.end, azure.end} {
		if end != nil {
			end()
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

type cloud struct {
	authority authority
	conns     chan net.Conn

	mu    sync.Mutex
	hosts map[string]http.Handler
	// others are names whose certificates somebody else has signed.
	others map[string]authority
	// open are the connections to each name.
	open map[string][]net.Conn
}

func newCloud() *cloud {
	return &cloud{authority: newAuthority("everybody's authority"), conns: make(chan net.Conn), hosts: map[string]http.Handler{}, others: map[string]authority{}, open: map[string][]net.Conn{}}
}

// serve puts a server behind a name.
func (c *cloud) serve(t *testing.T, host string, h http.Handler) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[host] = h
}

func (c *cloud) handler(host string) http.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hosts[host]
}

// certificate signs for every name that is asked for.
func (c *cloud) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	by, ok := c.others[h.ServerName]
	c.mu.Unlock()
	if !ok {
		by = c.authority
	}
	return by.issue(h.ServerName), nil
}

// mistrusted gives a name the certificate of somebody whom nobody knows.
func (c *cloud) mistrusted(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others[host] = newAuthority("nobody's authority")
	for _, conn := range c.open[host] {
		_ = conn.Close()
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.CloseIdleConnections() // or the next request would find out by failing
	}
}

// gone takes what is behind a name away.
func (c *cloud) gone(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.hosts, host)
}

// listen starts the proxy, and behind it the servers.
func (c *cloud) listen() string {
	quiet := log.New(io.Discard, "", 0)
	l := must(listen())
	servers := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h := c.handler(r.Host); h != nil {
				h.ServeHTTP(w, r)
				return
			}
			panic(http.ErrAbortHandler)
		}),
		TLSConfig: &tls.Config{GetCertificate: c.certificate},
		ErrorLog:  quiet, ReadHeaderTimeout: time.Minute,
	}
	proxy := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.Host)
			if r.Method != http.MethodConnect || c.handler(host) == nil {
				http.Error(w, "nobody is there", http.StatusBadGateway)
				return
			}
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			c.mu.Lock()
			c.open[host] = append(c.open[host], conn)
			c.mu.Unlock()
			c.conns <- &bufferedConn{conn, buf.Reader}
		}),
		ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = servers.ServeTLS(c, "", "") }()
	go func() { _ = proxy.Serve(l) }()
	return l.Addr().String()
}

// Accept, Close and Addr make it the listener of the servers: what the proxy was asked to connect comes in here.
func (c *cloud) Accept() (net.Conn, error) { return <-c.conns, nil }
func (*cloud) Close() error                { return nil }
func (*cloud) Addr() net.Addr              { return &net.TCPAddr{} }

type bufferedConn struct {
	net.Conn

	r *bufio.Reader
}

func (b *bufferedConn) Read(p []byte) (int, error) { return b.r.Read(p) }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(name string) authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return authority{must(x509.ParseCertificate(der)), key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate for a name or an address.
func (a authority) issue(host string) *tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key))
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// proxyTo hands requests on to a server of this machine, under the name they came for.
func proxyTo(address string) http.Handler {
	target := must(url.Parse("http://" + address))
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			host := r.In.Host
			r.SetURL(target)
			r.Out.Host = host
			r.Out.Header["X-Forwarded-For"] = nil
		},
		ErrorLog:      log.New(io.Discard, "", 0),
		FlushInterval: -1,
	}
}

// freeAddress is one that nobody listens on yet, and that nobody else is given. It lies below the ports that the kernel
// hands out by itself: one of those may belong to some client's connection a moment later.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+int(lastPort.Add(1))%ports)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		return address
	}
	require.FailNow(t, "no port is free")
	return ""
}

// Two runs at a time begin in different places.
const firstPort, ports = 12000, 20000

var lastPort = func() *atomic.Int64 {
	var n atomic.Int64
	n.Store(int64(os.Getpid()) * 100 % ports)
	return &n
}()

// unique names what tests share a server for.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, lastName.Add(1)) }

var lastName atomic.Int64

func listen() (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") //nolint:wrapcheck // a test's own
}

func portOf(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return port
}
