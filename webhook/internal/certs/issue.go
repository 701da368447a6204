// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// authorityName marks an authority as one that a webhook made for itself.
const authorityName = "kopiur-webhook-ca"

const (
	// authorityLife and leafLife are how long each is valid; renewals leave months to notice that something is wrong.
	authorityLife = 2 * 365 * 24 * time.Hour
	leafLife      = 90 * 24 * time.Hour
	// backdate allows for API servers whose clock is behind.
	backdate = time.Hour
)

// newAuthority makes a certificate authority that may sign serving certificates and nothing else.
func newAuthority(now time.Time) (pair, error) {
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: authorityName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

// newLeaf makes a serving certificate for these DNS names. It never outlives the authority.
func newLeaf(by pair, names []string, now time.Time) (pair, error) {
	until := now.Add(leafLife)
	if by.cert.NotAfter.Before(until) {
		until = by.cert.NotAfter
	}
	return issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		DNSNames:    names,
		NotBefore:   now.Add(-backdate),
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &by)
}

// issue makes a key and signs its certificate; without an authority it signs itself.
func issue(template *x509.Certificate, by *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("parse our own certificate: %w", err)
	}
	return pair{cert: cert, key: key}, nil
}
