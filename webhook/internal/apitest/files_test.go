// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/webhook/internal/service"
)

// certificate writes a certificate that signed itself into a folder, as somebody else would, and returns it.
func (e *env) certificate(dir string) []byte {
	e.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(e.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "somebody"}, DNSNames: []string{e.name + "." + e.name + ".svc"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(e.t, err)
	rawKey, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(e.t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(e.t, os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600))
	require.NoError(e.t, os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}), 0o600))
	return cert
}

// trust tells the configurations what to trust, as cert-manager would.
func (e *env) trust(bundle []byte) {
	e.t.Helper()
	v, m := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}
	for _, c := range []client.Object{v, m} {
		require.NoError(e.t, e.client.Get(e.t.Context(), client.ObjectKey{Name: e.name}, c))
	}
	v.Webhooks[0].ClientConfig.CABundle, m.Webhooks[0].ClientConfig.CABundle = bundle, bundle
	require.NoError(e.t, e.client.Update(e.t.Context(), v))
	require.NoError(e.t, e.client.Update(e.t.Context(), m))
}

// A certificate that others put into a folder is served, and so is the one that replaces it.
func TestACertificateOfOthers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	clk := clocktesting.NewFakeClock(time.Now())
	e.clock = clk
	dir := t.TempDir()
	first := e.certificate(dir)
	r := e.start(func(o *service.Options) {
		o.TLSManaged, o.TLSDir = false, dir
		// Nothing of the webhook's own is there in this mode.
		o.SecretName, o.ServiceName, o.ValidatingConfig, o.MutatingConfig = "", "", "", ""
	})
	e.call(r)
	e.trust(first)
	e.admits()

	stop := e.hammer(r)
	second := e.certificate(dir)
	e.trust(append(append([]byte{}, first...), second...))
	e.eventually("the new certificate to be served", func(ctx context.Context) error {
		clk.Step(10 * time.Second)
		got, err := e.shake(ctx, r.admission)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(second)
		want, err := x509.ParseCertificate(block.Bytes)
		if err == nil && !want.Equal(got) {
			err = errOld
		}
		return err
	})
	stop()
}
