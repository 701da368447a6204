// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// target is a webhook configuration and where in it the bundles stand.
type target struct {
	object  client.Object
	bundles []*[]byte
}

// targets reads the configurations that exist. One that does not exist yet calls nobody; its arrival wakes the Keeper.
func (k *Keeper) targets(ctx context.Context) ([]target, error) {
	var out []target
	if name := k.config.Validating; name != "" {
		c := &admissionv1.ValidatingWebhookConfiguration{}
		found, err := k.get(ctx, name, c)
		if err != nil {
			return nil, err
		}
		if found {
			t := target{object: c}
			for i := range c.Webhooks {
				t.bundles = append(t.bundles, &c.Webhooks[i].ClientConfig.CABundle)
			}
			out = append(out, t)
		}
	}
	if name := k.config.Mutating; name != "" {
		c := &admissionv1.MutatingWebhookConfiguration{}
		found, err := k.get(ctx, name, c)
		if err != nil {
			return nil, err
		}
		if found {
			t := target{object: c}
			for i := range c.Webhooks {
				t.bundles = append(t.bundles, &c.Webhooks[i].ClientConfig.CABundle)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

func (k *Keeper) get(ctx context.Context, name string, into client.Object) (bool, error) {
	err := k.client.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", into, name, err)
	}
	return true, nil
}

// inject writes the bundle where it is not there yet.
func (k *Keeper) inject(ctx context.Context, t target, bundle []byte) error {
	changed := false
	for _, b := range t.bundles {
		if !bytes.Equal(*b, bundle) {
			*b = bundle
			changed = true
		}
	}
	if !changed {
		return nil
	}
	err := k.client.Update(ctx, t.object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tell %T %s what to trust: %w", t.object, t.object.GetName(), err)
	}
	k.log.Info("Telling a configuration what to trust", "configuration", t.object.GetName(), "kind", fmt.Sprintf("%T", t.object))
	return nil
}

// trusted are the certificates that the configurations trust; what cannot be read is not trusted.
func trusted(targets []target) []*x509.Certificate {
	var out []*x509.Certificate
	for _, t := range targets {
		for _, b := range t.bundles {
			if certs, err := parseCerts(*b); err == nil {
				out = merge(out, certs)
			}
		}
	}
	return out
}
