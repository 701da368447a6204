// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"slices"
	"time"
)

const (
	// authorityRenew and leafRenew are how long before their end each is replaced. An authority's is longer than a leaf's
	// life, so that a leaf is never cut short by it.
	authorityRenew = 180 * 24 * time.Hour
	leafRenew      = 30 * 24 * time.Hour
	// lead is how long a new authority is trusted before it signs what is served.
	lead = time.Hour
	// trail is how long an old authority stays trusted after what it signed was replaced.
	trail = 24 * time.Hour
	// maxBundle bounds what is trusted, whoever wrote the configurations.
	maxBundle = 5
)

// Input is what a step depends on.
type Input struct {
	// Material is that of the Secret; without a usable Secret, what this replica serves with; nil where there is neither.
	Material *Material
	// Lost is set where the Secret is gone or broken. Its key may be known to whoever took it, so a new authority follows.
	Lost bool
	// Trusted is what the configurations trust at present: a replica that still runs may be serving by it.
	Trusted []*x509.Certificate
	// Names are the DNS names to serve.
	Names []string
	Now   time.Time
}

// Step is what Next decided.
type Step struct {
	Material *Material
	// Reasons say what is new; none means that nothing is.
	Reasons []string
	// At is when to decide again.
	At time.Time
}

// Next takes the step that is due. It is total: whatever the clock says, what comes out can be served with at that time.
func Next(in Input) (Step, error) {
	now := in.Now
	if in.Material == nil {
		return first(in)
	}
	next := *in.Material
	next.bundle = slices.Clone(in.Material.bundle)
	if in.Lost {
		next.bundle = merge(next.bundle, ours(in.Trusted))
	}
	var reasons []string
	// No authority signs before it was trusted for a while, unless there is nothing else.
	urgent := !valid(next.authority.cert, now)
	why := ""
	switch {
	case urgent:
		why = "the certificate authority had expired"
	case in.Lost:
		why = "the Secret was gone or could not be read"
	case due(next.authority.cert, authorityRenew, now):
		why = "the certificate authority is due for renewal"
	}
	if why != "" {
		authority, err := newAuthority(now)
		if err != nil {
			return Step{}, err
		}
		next.authority = authority
		next.bundle = append([]*x509.Certificate{authority.cert}, next.bundle...)
		reasons = append(reasons, why)
	}
	if why := leafReason(&next, in.Names, urgent, now); why != "" {
		leaf, err := newLeaf(next.authority, in.Names, now)
		if err != nil {
			return Step{}, err
		}
		next.leaf = leaf
		reasons = append(reasons, why)
	}
	before := len(next.bundle)
	next.bundle = kept(&next, now)
	if len(next.bundle) < before {
		reasons = append(reasons, "an old certificate authority is trusted no longer")
	}
	return Step{Material: &next, Reasons: reasons, At: wake(&next, now)}, nil
}

// first begins where nothing is known but what the configurations trust.
func first(in Input) (Step, error) {
	authority, err := newAuthority(in.Now)
	if err != nil {
		return Step{}, err
	}
	leaf, err := newLeaf(authority, in.Names, in.Now)
	if err != nil {
		return Step{}, err
	}
	m := &Material{authority: authority, leaf: leaf, bundle: merge([]*x509.Certificate{authority.cert}, ours(in.Trusted))}
	m.bundle = kept(m, in.Now)
	return Step{Material: m, Reasons: []string{"there was no certificate"}, At: wake(m, in.Now)}, nil
}

// leafReason says why the served certificate has to be replaced, "" where it has not.
func leafReason(m *Material, names []string, urgent bool, now time.Time) string {
	leaf := m.leaf.cert
	current := signed(m.authority.cert, leaf)
	settled := current || !now.Before(made(m.authority.cert).Add(lead))
	switch {
	case urgent, !valid(leaf, now):
		return "the certificate had expired"
	case !slices.Equal(leaf.DNSNames, names):
		return "the certificate was for another Service"
	case !slices.ContainsFunc(m.bundle, func(ca *x509.Certificate) bool { return signed(ca, leaf) }):
		return "nothing trusted had signed the certificate"
	case settled && due(leaf, leafRenew, now):
		return "the certificate is due for renewal"
	case settled && !current:
		return "the new certificate authority signs from now on"
	}
	return ""
}

// kept is the bundle without what has expired and what nothing depends on any more.
func kept(m *Material, now time.Time) []*x509.Certificate {
	done := signed(m.authority.cert, m.leaf.cert) && !now.Before(made(m.leaf.cert).Add(trail))
	var out []*x509.Certificate
	for _, ca := range m.bundle {
		if !ca.Equal(m.authority.cert) {
			if done || !now.Before(ca.NotAfter) || len(out) >= maxBundle {
				continue
			}
		}
		out = append(out, ca)
	}
	return out
}

// wake is the earliest time at which Next would do something.
func wake(m *Material, now time.Time) time.Time {
	times := []time.Time{m.authority.cert.NotAfter.Add(-authorityRenew)}
	if signed(m.authority.cert, m.leaf.cert) {
		times = append(times, m.leaf.cert.NotAfter.Add(-leafRenew))
		if len(m.bundle) > 1 {
			times = append(times, made(m.leaf.cert).Add(trail))
		}
	} else {
		times = append(times, made(m.authority.cert).Add(lead), m.leaf.cert.NotAfter)
	}
	at := slices.MinFunc(times, time.Time.Compare)
	if !at.After(now) {
		// Nothing of what Next makes is due at once; this bounds the work if a clock says otherwise.
		at = now.Add(time.Hour)
	}
	return at
}

func valid(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotAfter)
}

func due(c *x509.Certificate, before time.Duration, now time.Time) bool {
	return !now.Before(c.NotAfter.Add(-before))
}

// made is when a certificate of ours was made.
func made(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdate) }

// signed reports whether ca signed leaf, by signature: all authorities of ours have one name.
func signed(ca, leaf *x509.Certificate) bool { return leaf.CheckSignatureFrom(ca) == nil }

// merge appends what is missing.
func merge(bundle, more []*x509.Certificate) []*x509.Certificate {
	for _, c := range more {
		if !slices.ContainsFunc(bundle, c.Equal) {
			bundle = append(bundle, c)
		}
	}
	return bundle
}

// ours are the authorities of webhooks in what a configuration trusts, newest first.
func ours(trusted []*x509.Certificate) []*x509.Certificate {
	var out []*x509.Certificate
	for _, c := range trusted {
		if c.IsCA && c.Subject.CommonName == authorityName {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *x509.Certificate) int { return b.NotBefore.Compare(a.NotBefore) })
	return out
}
