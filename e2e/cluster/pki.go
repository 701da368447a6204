// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pair keyPair
}

// keyPair is a certificate and its key as PEM.
type keyPair struct{ cert, key []byte }

// subject says who a certificate is for. Kubernetes reads user and groups out of it.
type subject struct {
	user   string
	groups []string
	dns    []string
	ips    []string
}

// Test clusters live for hours; a year survives a machine that sleeps, and clocks that are a day off.
const (
	pkiBackdate = 24 * time.Hour
	pkiLifetime = 365 * 24 * time.Hour
)

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certificate(name)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pair, err := encode(der, key)
	return &authority{cert: cert, key: key, pair: pair}, err
}

// issue signs a certificate that is good for both ends of a connection, as most Kubernetes components are both.
func (a *authority) issue(s subject) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template, err := certificate(s.user)
	if err != nil {
		return keyPair{}, err
	}
	template.Subject.Organization = s.groups
	template.DNSNames = s.dns
	for _, text := range s.ips {
		ip := net.ParseIP(text)
		if ip == nil {
			return keyPair{}, fmt.Errorf("certificate for %s: %q is no IP address", s.user, text)
		}
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign certificate for %s: %w", s.user, err)
	}
	return encode(der, key)
}

func certificate(commonName string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName},
		NotBefore: now.Add(-pkiBackdate), NotAfter: now.Add(pkiLifetime),
	}, nil
}

func encode(der []byte, key *ecdsa.PrivateKey) (keyPair, error) {
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: rawKey}),
	}, nil
}

func (p keyPair) write(folder, name string) error {
	if err := os.WriteFile(filepath.Join(folder, name+".crt"), p.cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".key"), p.key, 0o600)
}

// identities are the users of a cluster that get a kubeconfig.
type identities struct {
	ca    []byte
	users map[string]keyPair
}

// makePKI writes every key and certificate of a cluster into folder. Its API server answers for the given addresses.
func makePKI(folder, node string, serverIPs []string) (identities, error) {
	ca, err := newAuthority("kopiur-test-ca")
	if err != nil {
		return identities{}, err
	}
	front, err := newAuthority("kopiur-test-front-proxy-ca")
	if err != nil {
		return identities{}, err
	}
	out := identities{ca: ca.pair.cert, users: map[string]keyPair{}}
	issued := map[string]keyPair{"ca": ca.pair, "front-ca": front.pair}

	masters := []string{"system:masters"}
	serverNames := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	for name, s := range map[string]subject{
		"apiserver":       {user: "kube-apiserver", dns: serverNames, ips: serverIPs},
		"apiserver-nodes": {user: "kube-apiserver-kubelet-client", groups: masters},
		"kubelet-serving": {user: node, dns: []string{node, "localhost"}, ips: serverIPs},
		"admin":           {user: "kopiur-admin", groups: masters},
		"controllers":     {user: "system:kube-controller-manager"},
		"scheduler":       {user: "system:kube-scheduler"},
		"kubelet":         {user: "system:node:" + node, groups: []string{"system:nodes"}},
		"proxy":           {user: "system:kube-proxy"},
	} {
		if issued[name], err = ca.issue(s); err != nil {
			return identities{}, err
		}
	}
	if issued["front-client"], err = front.issue(subject{user: "front-proxy-client"}); err != nil {
		return identities{}, err
	}
	for name, pair := range issued {
		if err := pair.write(folder, name); err != nil {
			return identities{}, fmt.Errorf("write certificate %s: %w", name, err)
		}
	}
	for _, user := range []string{"admin", "controllers", "scheduler", "kubelet", "proxy"} {
		out.users[user] = issued[user]
	}
	return out, writeServiceAccountKeys(folder)
}

// writeServiceAccountKeys writes the key that signs ServiceAccount tokens, and its public half.
func writeServiceAccountKeys(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "service-accounts")
	if err := os.WriteFile(file+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(file+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644)
}
