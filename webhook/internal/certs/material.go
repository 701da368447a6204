// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Keys of the Secret. tls.crt and tls.key are those of a Secret of type kubernetes.io/tls.
const (
	keyCert   = "tls.crt"
	keyKey    = "tls.key"
	keyBundle = "ca.crt"
	keyCAKey  = "ca.key"
)

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Material is all that the webhook serves with and signs by.
type Material struct {
	// authority signs; it is the first of the bundle.
	authority pair
	// leaf is served.
	leaf pair
	// bundle is what API servers trust: the authority and those it follows.
	bundle []*x509.Certificate
}

// Bundle is what API servers have to trust, as PEM.
func (m *Material) Bundle() []byte {
	var b bytes.Buffer
	for _, c := range m.bundle {
		// A buffer takes everything.
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return b.Bytes()
}

// Certificate is what TLS serves.
func (m *Material) Certificate() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{m.leaf.cert.Raw}, PrivateKey: m.leaf.key, Leaf: m.leaf.cert}
}

// Data is the content of the Secret.
func (m *Material) Data() (map[string][]byte, error) {
	leafKey, err := encodeKey(m.leaf.key)
	if err != nil {
		return nil, err
	}
	caKey, err := encodeKey(m.authority.key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		keyCert: encodeCert(m.leaf.cert), keyKey: leafKey, keyBundle: m.Bundle(), keyCAKey: caKey,
	}, nil
}

// parse reads the Secret's content. An error means that nothing of it can be used.
func parse(data map[string][]byte) (*Material, error) {
	bundle, err := parseCerts(data[keyBundle])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyBundle, err)
	}
	authority, err := parsePair(bundle, data[keyCAKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyCAKey, err)
	}
	leaves, err := parseCerts(data[keyCert])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyCert, err)
	}
	leaf, err := parsePair(leaves[:1], data[keyKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyKey, err)
	}
	return &Material{authority: authority, leaf: leaf, bundle: bundle}, nil
}

func encodeCert(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func encodeKey(k *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// parseCerts reads all certificates of a PEM text; none is an error.
func parseCerts(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse a certificate: %w", err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no certificate")
	}
	return out, nil
}

// parsePair reads a key and finds its certificate.
func parsePair(certs []*x509.Certificate, text []byte) (pair, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return pair{}, errors.New("there is no key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		// The library's text could quote the key.
		return pair{}, errors.New("the key is not understood")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return pair{}, fmt.Errorf("the key is a %T", parsed)
	}
	for _, c := range certs {
		if key.PublicKey.Equal(c.PublicKey) {
			return pair{cert: c, key: key}, nil
		}
	}
	return pair{}, errors.New("the key belongs to none of the certificates")
}
