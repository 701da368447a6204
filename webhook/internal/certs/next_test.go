// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const day = 24 * time.Hour

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	names = []string{"kopiur-webhook.kopiur-system.svc"}
)

// begin is the material of a first start.
func begin(t *testing.T, now time.Time) *Material {
	t.Helper()
	s, err := Next(Input{Names: names, Now: now})
	require.NoError(t, err)
	return s.Material
}

// trusts reports whether an API server with this bundle accepts the certificate at a time.
func trusts(bundle []*x509.Certificate, leaf *x509.Certificate, at time.Time) error {
	pool := x509.NewCertPool()
	for _, c := range bundle {
		pool.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: names[0], CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

func TestNext(t *testing.T) {
	t.Parallel()
	stranger, err := newAuthority(start)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		in          func(m *Material) Input
		wantReasons []string
		wantBundle  int
		// wantLeaf and wantAuthority say whether each is new.
		wantLeaf, wantAuthority bool
	}{
		"nothing is due": {
			in:         func(m *Material) Input { return Input{Material: m, Names: names, Now: start.Add(59 * day)} },
			wantBundle: 1,
		},
		"a certificate is renewed a month before its end": {
			in:          func(m *Material) Input { return Input{Material: m, Names: names, Now: start.Add(60 * day)} },
			wantReasons: []string{"the certificate is due for renewal"}, wantBundle: 1, wantLeaf: true,
		},
		"an expired certificate is replaced, the authority stays": {
			in:          func(m *Material) Input { return Input{Material: m, Names: names, Now: start.Add(91 * day)} },
			wantReasons: []string{"the certificate had expired"}, wantBundle: 1, wantLeaf: true,
		},
		"past everybody's end all is new at once": {
			in:          func(m *Material) Input { return Input{Material: m, Names: names, Now: start.Add(3 * 365 * day)} },
			wantReasons: []string{"the certificate authority had expired", "the certificate had expired", "an old certificate authority is trusted no longer"},
			wantBundle:  1, wantLeaf: true, wantAuthority: true,
		},
		"another Service needs another certificate": {
			in: func(m *Material) Input {
				return Input{Material: m, Names: []string{"other.kopiur-system.svc"}, Now: start.Add(day)}
			},
			wantReasons: []string{"the certificate was for another Service"}, wantBundle: 1, wantLeaf: true,
		},
		"after the Secret was lost a new authority is trusted beside the old one and signs nothing yet": {
			in: func(m *Material) Input {
				return Input{Material: m, Lost: true, Names: names, Now: start.Add(day), Trusted: m.bundle}
			},
			wantReasons: []string{"the Secret was gone or could not be read"}, wantBundle: 2, wantAuthority: true,
		},
		"a replica that starts without the Secret trusts on what another may be serving with": {
			in: func(m *Material) Input {
				return Input{Lost: true, Names: names, Now: start.Add(day), Trusted: []*x509.Certificate{m.authority.cert, stranger.cert}}
			},
			wantReasons: []string{"there was no certificate"}, wantBundle: 3, wantLeaf: true, wantAuthority: true,
		},
		"a leaf is nobody's authority, whatever a configuration says": {
			in: func(m *Material) Input {
				return Input{Lost: true, Names: names, Now: start.Add(day), Trusted: []*x509.Certificate{m.leaf.cert}}
			},
			wantReasons: []string{"there was no certificate"}, wantBundle: 1, wantLeaf: true, wantAuthority: true,
		},
		"a clock before everything begins anew and keeps what others trust": {
			in:          func(m *Material) Input { return Input{Material: m, Names: names, Now: time.Unix(0, 0)} },
			wantReasons: []string{"the certificate authority had expired", "the certificate had expired"},
			wantBundle:  2, wantLeaf: true, wantAuthority: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begin(t, start)
			in := tc.in(m)
			got, err := Next(in)
			require.NoError(t, err)
			assert.Equal(t, tc.wantReasons, got.Reasons)
			assert.Len(t, got.Material.bundle, tc.wantBundle)
			assert.Equal(t, tc.wantLeaf, !got.Material.leaf.cert.Equal(m.leaf.cert), "a new certificate")
			assert.Equal(t, tc.wantAuthority, !got.Material.authority.cert.Equal(m.authority.cert), "a new authority")
			assert.Equal(t, in.Names, got.Material.leaf.cert.DNSNames)
			assert.True(t, got.At.After(in.Now), "never due again at once")
			if in.Names[0] == names[0] {
				require.NoError(t, trusts(got.Material.bundle, got.Material.leaf.cert, in.Now))
			}
			again, err := Next(Input{Material: got.Material, Names: in.Names, Now: in.Now})
			require.NoError(t, err)
			assert.Empty(t, again.Reasons, "deciding twice changes nothing")
			data, err := got.Material.Data()
			require.NoError(t, err)
			back, err := parse(data)
			require.NoError(t, err)
			assert.Equal(t, got.Material.bundle, back.bundle)
			assert.True(t, back.authority.cert.Equal(got.Material.authority.cert))
		})
	}
}

// Ten years of steps, each at the time the one before asked for. Whatever is served was trusted for an hour already, and
// what was served stays trusted for a day: an API server or a replica that is late by less is never refused.
func TestNoStepBreaksTrust(t *testing.T) {
	t.Parallel()
	m := begin(t, start)
	now := start
	type past struct {
		at     time.Time
		bundle []*x509.Certificate
		leaf   *x509.Certificate
	}
	history := []past{{now, m.bundle, m.leaf.cert}}
	authorities := map[string]bool{string(m.authority.cert.Raw): true}
	steps := 0
	for now.Before(start.Add(10 * 365 * day)) {
		s, err := Next(Input{Material: m, Names: names, Now: now})
		require.NoError(t, err)
		m = s.Material
		authorities[string(m.authority.cert.Raw)] = true
		history = append(history, past{now, m.bundle, m.leaf.cert})
		for _, h := range history {
			if now.Sub(h.at) < lead && now.Before(h.leaf.NotAfter) {
				require.NoError(t, trusts(h.bundle, m.leaf.cert, now), "a late API server and a new certificate at %s", now)
			}
			if now.Sub(h.at) < trail && now.Before(h.leaf.NotAfter) {
				require.NoError(t, trusts(m.bundle, h.leaf, now), "a new bundle and a late replica at %s", now)
			}
		}
		require.LessOrEqual(t, len(m.bundle), 2)
		now = s.At
		steps++
	}
	assert.InDelta(t, 7, len(authorities), 1, "an authority lasts for a year and a half")
	assert.Less(t, steps, 150, "nothing is done without need")
}

func TestParse(t *testing.T) {
	t.Parallel()
	m, other := begin(t, start), begin(t, start)
	data := func(change func(map[string][]byte)) map[string][]byte {
		d, err := m.Data()
		require.NoError(t, err)
		change(d)
		return d
	}
	foreign, err := other.Data()
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"an empty Secret":             {nil, "read ca.crt: there is no certificate"},
		"a bundle that is text":       {data(func(d map[string][]byte) { d[keyBundle] = []byte("x") }), "read ca.crt: there is no certificate"},
		"another authority's key":     {data(func(d map[string][]byte) { d[keyCAKey] = foreign[keyCAKey] }), "read ca.key: the key belongs to none of the certificates"},
		"no certificate":              {data(func(d map[string][]byte) { delete(d, keyCert) }), "read tls.crt: there is no certificate"},
		"no key":                      {data(func(d map[string][]byte) { delete(d, keyKey) }), "read tls.key: there is no key"},
		"another certificate's key":   {data(func(d map[string][]byte) { d[keyKey] = foreign[keyKey] }), "read tls.key: the key belongs to none of the certificates"},
		"a key that is a certificate": {data(func(d map[string][]byte) { d[keyKey] = d[keyCert] }), "read tls.key: the key is not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tc.data)
			require.EqualError(t, err, tc.want)
		})
	}
}
